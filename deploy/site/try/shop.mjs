// The shop of make site: it serves the files beside this one at the port that is named.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';

const types = { html: 'text/html; charset=utf-8', css: 'text/css' };
createServer(async (request, response) => {
  const name = /^\/([a-z]+\.(html|css))?(\?|$)/.exec(request.url);
  const file = name && (name[1] ?? 'index.html');
  const text = file && await readFile(new URL(file, import.meta.url)).catch(() => null);
  response.writeHead(text ? 200 : 404, { 'Content-Type': types[name?.[2] ?? 'html'] }).end(text ?? 'There is no such page.');
}).listen(Number(process.argv[2]), '127.0.0.1');
