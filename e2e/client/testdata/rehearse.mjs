// Waits in each zone of a rehearsal, all at once, with pauses that are so many times as
// short as told. The 3 s for a call stay what they are.
//
//   node rehearse.mjs URL SPEED ZONE...
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { worker } from '../../../clients/js/work.js';

const [url, speed, ...zones] = process.argv.slice(2);
const began = Date.now();
globalThis.faster = {
  setTimeout: (f, millis) => setTimeout(f, millis / speed),
  Date: { now: () => began + (Date.now() - began) * speed },
};
// The client as it is, but for its clock.
const client = await readFile(new URL('../../../clients/js/index.js', import.meta.url), 'utf8');
const hurried = `const { setTimeout, Date } = globalThis.faster;\n${client}`;
const { WaitError, wait } = await import(`data:text/javascript,${encodeURIComponent(hurried)}`);

async function visit(zone) {
  const clientId = randomUUID();
  for (;;) {
    try {
      const { pass } = await wait({ url, zone, clientId, timeout: 3000 * speed, loadWork: () => worker });
      await fetch(`${url}/service`, { headers: { Authorization: `Bearer ${pass}` } });
      return;
    } catch (e) {
      if (!(e instanceof WaitError)) throw e;
      // This user always wants to go on when the place is gone.
      if (e.code !== 'token_expired') return;
    }
  }
}

await Promise.all(zones.map(visit));
