import type { Gate } from './index.js';

/**
 * Makes the gate two triggers for Lambda@Edge. Both are needed: the second hands the session out. `viewerRequest` puts it into the
 * request header `x-waiting-room-keep`, which must not be part of a cache key.
 */
export function triggers(gate: Gate): {
  viewerRequest(event: object): Promise<object>;
  viewerResponse(event: object): Promise<object>;
};
