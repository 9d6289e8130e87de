// crowd: so many visitors, each of whom waits as the page does. It ends when all are in.
//
// Usage: node crowd.mjs URL ZONE VISITORS
import { randomUUID } from 'node:crypto';
import { wait } from '../../../clients/js/index.js';

const [url, zone, visitors] = process.argv.slice(2);
let inside = 0;
const all = Array.from({ length: Number(visitors) }, () => wait({ url, zone, clientId: randomUUID() }).then(() => { inside += 1; }));
const told = setInterval(() => console.log(`${inside} of ${visitors} are in the shop`), 6000);
await Promise.all(all);
clearInterval(told);
console.log('The whole crowd is in the shop.');
