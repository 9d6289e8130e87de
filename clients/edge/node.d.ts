import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gate } from './index.js';

/**
 * Makes the gate a middleware for node:http, Connect and Express. Behind a proxy, set Express's `trust proxy`: it says whose word
 * counts for the visitor's address and for TLS.
 */
export function middleware(gate: Gate): (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => Promise<void>;
