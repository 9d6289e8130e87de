// Triggers of CloudFront for Lambda@Edge.
import { clearing } from './index.js';

const KEEP = 'x-waiting-room-keep'; // from one trigger to the other

/** Makes the gate the triggers viewer request and viewer response. See lambda.d.ts. */
export function triggers(gate) {
  return {
    async viewerRequest({ Records: [{ cf: { request } }] }) {
      delete request.headers[KEEP]; // the visitor's
      const get = (name) => request.headers[name.toLowerCase()]?.map(({ value }) => value).join(name === 'Cookie' ? '; ' : ', ');
      const uri = request.uri + (request.querystring && `?${request.querystring}`);
      const url = `https://${get('Host')}${uri}`;
      const { response, headers } = await gate.ask({ url, method: request.method, headers: { get } }, request.clientIp, uri);
      if (response) {
        return { status: String(response.status), headers: fields(Object.fromEntries(response.headers)), body: await response.text() };
      }
      if (Object.keys(headers).length) {
        request.headers[KEEP] = [{ key: KEEP, value: JSON.stringify(headers) }];
      }
      return request;
    },
    async viewerResponse({ Records: [{ cf: { request, response } }] }) {
      const kept = fields(JSON.parse(request.headers[KEEP]?.[0].value ?? '{}'));
      kept['set-cookie'] = [...response.headers['set-cookie'] ?? [], ...kept['set-cookie'] ?? []];
      const clears = clearing(response.headers['clear-site-data']?.map(({ value }) => value));
      Object.assign(response.headers, kept, clears && fields({ 'Clear-Site-Data': clears }));
      return response;
    },
  };
}

const fields = (headers) => Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), [{ key, value }]]));
