// Middleware for node:http, Connect and Express.
import { clearing } from './index.js';

/** Makes the gate a middleware. See node.d.ts. */
export function middleware(gate) {
  return async (request, response, next) => {
    // Express takes X-Forwarded-For and X-Forwarded-Proto of the proxies that "trust proxy" names.
    const { socket, protocol = socket.encrypted ? 'https' : 'http', ip = socket.remoteAddress, originalUrl: uri = request.url } = request;
    const url = `${protocol}://${request.headers.host}${uri}`;
    if (!uri.startsWith('/') || !URL.canParse(url)) {
      response.writeHead(400).end();
      return;
    }
    let verdict;
    try {
      // The shop sees the path as it was written, so the gate goes by that, too.
      verdict = await gate.ask({ url, method: request.method, headers: { get: (name) => request.headers[name.toLowerCase()] } }, ip, uri);
    } catch (error) {
      next(error);
      return;
    }
    if (verdict.response) {
      response.writeHead(verdict.response.status, Object.fromEntries(verdict.response.headers));
      response.end(await verdict.response.text());
      return;
    }
    keep(response, verdict.headers);
    next();
  };
}

// keep has the answer hand out the session, whatever the shop says to caches, and clear none of the gate's cookies.
function keep(response, headers) {
  const { writeHead } = response;
  response.writeHead = (status, ...rest) => {
    response.writeHead = writeHead;
    const said = typeof rest.at(-1) === 'object' ? rest.pop() : undefined; // or a text, the reason
    if (Array.isArray(said)) { // names and values in turn; a name may come twice
      const pairs = said.every(Array.isArray) ? said : said.flatMap((name, i) => (i % 2 ? [] : [[name, said[i + 1]]]));
      for (const [name] of pairs) response.removeHeader(name);
      for (const [name, value] of pairs) response.appendHeader(name, value);
    } else {
      for (const [name, value] of Object.entries(said ?? {})) response.setHeader(name, value);
    }
    const clears = clearing(response.getHeader('Clear-Site-Data'));
    if (clears) response.setHeader('Clear-Site-Data', clears);
    for (const [name, value] of Object.entries(headers)) response[name === 'Set-Cookie' ? 'appendHeader' : 'setHeader'](name, value);
    return response.writeHead(status, ...rest);
  };
}
