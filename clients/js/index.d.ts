/** Where the place is kept between two visits: localStorage, or React Native's AsyncStorage. */
export interface PlaceStorage {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, value: string): void | Promise<void>;
}

export interface PlaceOptions {
  /** The waiting room's origin: `https://queue.shop.example`. */
  url: string | URL;
  /** The zone to wait in, exactly as the operator named it. */
  zone: string;
  /**
   * What only this installation knows: a random UUID that it keeps, or the name under which the shop knows a member. A
   * repeated join with it finds the same place. Without one, and with `storage`, one is made and kept.
   */
  clientId?: string;
  /** The newest token of an earlier wait, if it was kept elsewhere than in `storage`. */
  token?: string;
  /** Keeps the place over a reload, a crash or a restart. Without it the place lives as long as the call. */
  storage?: PlaceStorage;
  /** How long a call may take before it is sent again, in milliseconds; 3000. */
  timeout?: number;
  /** Instead of the global fetch. */
  fetch?: typeof globalThis.fetch;
  /** Ends the wait. The place stays: `leave` gives it up. */
  signal?: AbortSignal;
}

/** What a person who waits may want to see. */
export type Update = {
  zone: string;
  /** The newest token, or '' without a place. */
  token: string;
  /** When the server is asked again, in milliseconds of Date.now(). */
  nextPollAt: number;
} & (
  | {
      state: 'waiting';
      /** 1 for the next. It never rises. */
      position: number;
      /** How many wait. */
      total: number;
      /** Milliseconds. */
      estimatedWait: number;
      /** Milliseconds. The wait lies between them four times of five. Absent where that is not known. */
      estimatedWaitRange?: { low: number; high: number };
      /** There when the estimate moved for a reason: on_hold, resumed, faster, slower, recovering; others may be added. */
      reason?: string;
      /** Milliseconds. */
      pollingPeriod: number;
      /** When the place was taken, in Unix microseconds. */
      arrivedAtMicros: number;
      /** There while the operator has a message to all who wait; another message has another number. Its text: GET /traffic/zones/{zone}. */
      notice?: number;
    }
  | {
      /**
       * joining: the token was not of this room, a new place is taken. busy: too many requests, or the line is full.
       * unavailable: the room cannot answer now. retrying: no answer came. Except for joining, the place is kept.
       */
      state: 'joining' | 'busy' | 'unavailable' | 'retrying';
      /** The problem's code, such as `line_full`; `no_answer` where none came. */
      code?: string;
    }
);

export interface WaitOptions extends PlaceOptions {
  /** What the room counts visitors by, such as `IOS`; see clientAgent in /openapi.yaml. */
  agent?: string;
  /** The invitation, where the zone takes who is invited: a JWT that the shop has signed. The room knows its visitor by it, not by `clientId`. */
  ticket?: string;
  /** Called after each answer that asks to wait, and after each call that got none. */
  onUpdate?(update: Update): void;
  /** In how many milliseconds the room wants to be asked first, if an earlier answer said so. At once otherwise. */
  pollAfter?: number;
  /**
   * Subscribes to the device's waking: `woke` is to be called then. Returns how to unsubscribe. Browsers need none. In
   * React Native:
   * `(woke) => { const s = AppState.addEventListener('change', (to) => to === 'active' && woke()); return () => s.remove(); }`
   */
  onWake?(woke: () => void): () => void;
}

export interface Admission {
  zone: string;
  token: string;
  /** The JSON Web Token that the service behind the room verifies. */
  pass: string;
  /** Unix milliseconds. */
  admittedAt: number;
  /** When the pass ends, in Unix milliseconds. */
  expiresAt: number;
}

/**
 * A wait that ended without a pass. `code` is the problem's, as in /openapi.yaml: `token_expired` (the place is gone: call
 * `wait` again if the person wants to), `sold_out` (nobody need wait any more: `message` says why), `ticket_missing`,
 * `ticket_invalid` and `ticket_used` (only who is invited may join), `zone_closed`, `zone_unknown`, `cross_origin`, `invalid_request` ...
 */
export class WaitError extends Error {
  code: string;
  status: number;
  token: string;
}

/**
 * Joins the line, asks when the server wants to be asked, and resolves with the admission. It goes on through lost
 * answers, overload and a store that is away, for as long as `signal` allows.
 *
 * @throws {WaitError} when the room says that there is nothing to wait for
 */
export function wait(options: WaitOptions): Promise<Admission>;

/** Gives the place up, so that the line is as long as it looks. One call, not repeated; a lost one costs nobody anything. */
export function leave(options: PlaceOptions): Promise<void>;
