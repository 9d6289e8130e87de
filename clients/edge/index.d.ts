export interface Options {
  /** Where the gate reaches the room's public listener: `https://queue.shop.example`. */
  room: string;
  /** Where visitors reach the waiting page. `room` when absent; `''` if the site itself hands `/wait/` and `/traffic/` to the room. */
  visitors?: string;
  /** The zone before this site. */
  zone: string;
  /**
   * Signs sessions: a random text of 32 characters or more, which this gate alone has. Several, the newest first, while one is replaced:
   * remove the old one after 12 hours.
   */
  key: string | string[];
  /** What becomes of visitors without a session when the room does not answer: `hold` (503, come again), or `admit` (they go on). `hold` when absent. */
  onFailure?: 'hold' | 'admit';
  /** How long one question to the room may take, in milliseconds. A request asks up to three. 1000 when absent. */
  timeout?: number;
  /** The room's `QUEUE_PASS_ISSUER`. `waitingroom` when absent. */
  issuer?: string;
  /**
   * What browsers see when the room does not answer, by state and language, such as `away-de`: the module that
   * `queue-server page export ZONE DIR --for edge` writes. A line of English when absent.
   */
  pages?: Record<string, string>;
  /** Called in place of the global `fetch`, where a runtime needs more arguments, or the room a secret header. */
  fetch?: typeof fetch;
}

/** What the gate reads of a request. */
export interface Asked {
  readonly url: string;
  readonly method: string;
  readonly headers: { get(name: string): string | null | undefined };
}

/** Either the answer for the visitor, or what to set in the shop's answer. */
export type Verdict = { response: Response; headers?: undefined } | { response?: undefined; headers: Record<string, string> };

export interface Gate {
  /**
   * Decides about a request. `address` is the visitor's, as the runtime tells it: never from a header that visitors write. `uri` is
   * path and query as the shop will see them, if `url` is not that. `Set-Cookie` of `headers` is to be added, the others replaced.
   */
  ask(request: Asked, address: string, uri?: string): Promise<Verdict>;
  /** Answers a request: by itself, or with what `forward` answers. `forward` is `fetch` when absent. */
  fetch(request: Request, address: string, forward?: (request: Request) => Response | Promise<Response>): Promise<Response>;
}

/** Makes the gate of a zone. Make one for all requests: it remembers what it knows of the room. */
export function waitingRoom(options: Options): Gate;

/**
 * Returns what the answer of a shop is to say as `Clear-Site-Data` if it would have the browser clear the gate's cookies, else
 * undefined. `fetch` of a gate does it; it is for runtimes that have answers of another kind.
 */
export function clearing(said: string | readonly string[] | number | null | undefined): string | undefined;
