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

/** Milliseconds. */
export interface WaitRange {
  low: number;
  high: number;
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
      /** The reference of the place, to show and to log: 14 digits and capital letters. It is no secret. */
      placeId: string;
      /** 1 for the next. It never rises. 0 while people gather for an event: nobody has a number then. */
      position: number;
      /** How many wait. */
      total: number;
      /** Milliseconds. A day, the most, also means "not at present". */
      estimatedWait: number;
      /** The wait lies in it four times of five: show it, by `roundRange`, rather than `estimatedWait`. Absent where it is not known. */
      estimatedWaitRange?: WaitRange;
      /**
       * Why the estimate moved. `on_hold`: nobody enters, as long as it is there; the estimate is as if that ended now. For a minute:
       * `resumed`, `faster`, `slower` (an operator or the autopilot changed something), `recovering` (the room lost something, and places come
       * back). Others may be added: say nothing then.
       */
      reason?: 'on_hold' | 'resumed' | 'faster' | 'slower' | 'recovering' | (string & {});
      /** Milliseconds. */
      pollingPeriod: number;
      /** When the place was taken, in Unix microseconds. */
      arrivedAtMicros: number;
      /** There while the operator has a message to all who wait; another message has another number. Its text: GET /traffic/zones/{zone}. */
      notice?: number;
      /** There, and true, while the zone lets nobody in. One who has a position hears the same as `reason`: use that. */
      paused?: true;
      /** There while people gather for an event, and until it opens. */
      event?: {
        name: string;
        /** When it opens, in Unix milliseconds on the room's clock; absent while that is held. */
        opensAt?: number;
        /** The same in milliseconds from now: to count down from, whatever this device's clock says. */
        opensIn?: number;
        /** Nobody has a number yet. */
        gathering: boolean;
      };
      /** Of one who was there when an event was to open: the position that was told first. */
      number?: number;
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
  /**
   * Where the zone asks for the token of a provider (`kind` is `turnstile`, `hcaptcha` or `recaptcha`): shows its widget, and returns
   * the token. Without it such a zone ends the wait with `challenge_required`. `work` needs nothing: the client does it.
   */
  onChallenge?(challenge: { kind: string; reason: string; siteKey?: string; action?: string }): string | undefined | Promise<string | undefined>;
  /** Loads the function `worker` of work.js, or its text, if the dynamic import of it is not to be used. */
  loadWork?(): (() => unknown) | string | Promise<(() => unknown) | string>;
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

/** What a refusal says to a program: see docs/reference/problems.md. Others may be added. */
export type ProblemCode =
  // {{codes}}
  | 'body_too_large'
  | 'challenge_required'
  | 'cross_origin'
  | 'draw_unknown'
  | 'internal_error'
  | 'invalid_request'
  | 'line_full'
  | 'method_not_allowed'
  | 'network_share'
  | 'not_found'
  | 'request_timeout'
  | 'service_unavailable'
  | 'site_timeout'
  | 'site_unavailable'
  | 'sold_out'
  | 'store_unavailable'
  | 'ticket_invalid'
  | 'ticket_missing'
  | 'ticket_used'
  | 'token_expired'
  | 'token_invalid'
  | 'too_many_requests'
  | 'wait_too_long'
  | 'zone_closed'
  | 'zone_unknown'
  // {{end}}
  | (string & {});

/**
 * A wait that ended without a pass. `code` is the problem's, as in /openapi.yaml: `token_expired` (the place is gone: call
 * `wait` again if the person wants to), `sold_out` (nobody need wait any more: `message` says why), `ticket_missing`,
 * `ticket_invalid` and `ticket_used` (only who is invited may join), `zone_closed`, `zone_unknown`, `cross_origin`, `invalid_request` ...
 */
export class WaitError extends Error {
  code: ProblemCode;
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

/** A range for people, in minutes or hours. */
export interface RoundedRange {
  /** 0: "up to". The same as `high`: "about". */
  low: number;
  /** With a `low` of 0 and minutes, 1 is "less than a minute". */
  high: number;
  unit: 'minute' | 'hour';
}

/**
 * Rounds a range outward: to minutes, from ten on to five of them, from 90 on to half hours and from six hours on to hours; an end that
 * is a tenth of a step beyond a figure is that figure. undefined where the wait may be a day and more.
 *
 * @param shown what it returned for the answer before: an end stays as it is until it is a quarter of a step beyond what is shown
 */
export function roundRange(range: WaitRange, shown?: RoundedRange): RoundedRange | undefined;

export interface Check {
  /** The number on the published list. */
  number: number;
  /** How many are on it. */
  tickets: number;
  /** The commitment was kept before the opening, and it is the same. Without, it is known from the room alone. */
  seen: boolean;
  /** The position that was told first; it is higher where others lined up before people gathered. */
  told?: number;
}

/**
 * Works out the number that a draw gave, from the seed that is public after the opening, and looks whether it is on the
 * published list, and those about it in order. It loads some 40 kB, sometimes twice that: have a person ask for it.
 * With the `storage` of `wait`, the commitment that was seen before the opening is what the seed is held against.
 *
 * @throws {WaitError} `not_yet`, `not_drawn` (who came before or after stands by arrival), `no_crypto`, `no_answer` and the
 * problems of the API; and where something is wrong, `commitment_broken`, `wrong_order`, `not_listed`
 */
export function checkNumber(options: PlaceOptions & {
  /** The event's name; not needed with the `storage` of `wait`. */
  event?: string;
}): Promise<Check>;

/** Gives the place up, so that the line is as long as it looks. One call, not repeated; a lost one costs nobody anything. */
export function leave(options: PlaceOptions): Promise<void>;
