// A shop on node:http with the gate before it: node shop.mjs PORT ROOM
import { createServer } from 'node:http';

import { waitingRoom } from '../../../clients/edge/index.js';
import { middleware } from '../../../clients/edge/node.js';

const [port, room] = process.argv.slice(2);
const gate = middleware(waitingRoom({ room, visitors: 'http://queue.shop.example', zone: 'SHOP', key: 'f3b5c1d2e4a697887766554433221100' }));
createServer((request, response) => gate(request, response, () => response.end(`the shop: ${request.url}`))).listen(Number(port), '127.0.0.1');
