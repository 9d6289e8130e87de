import type { Admission, Update, WaitOptions } from './index.js';

/** The texts in English, by state or part. `{place}`, `{wait}` and `{id}` are filled in. */
export const TEXTS: Record<string, string>;

/**
 * `<waiting-room zone="SALE">`. Attributes: `zone`; `url`, the room's origin, the page's own when absent; `to`, the address to go to
 * with the pass; `ticket`; `texts`, JSON; `level`, that of the heading, 2 when absent. The attribute `state` says what is shown.
 */
export class WaitingRoomElement extends HTMLElement {
  /** Texts in the place of TEXTS. What is left out is English. */
  texts: Record<string, string>;
  /** As `onChallenge` of `wait`. */
  onChallenge?: WaitOptions['onChallenge'];
  /** Joins the line, or goes on where it was. */
  join(): Promise<void>;
  /** Gives the place up. */
  leave(): Promise<void>;
}

declare global {
  interface HTMLElementTagNameMap {
    'waiting-room': WaitingRoomElement;
  }
  interface HTMLElementEventMap {
    /** The visitor has a place. */
    placed: CustomEvent<Update>;
    /** The place is another one. */
    moved: CustomEvent<Update>;
    /** It is the visitor's turn. preventDefault keeps the element from going to `to`. */
    turn: CustomEvent<Admission>;
    /** There is no place any more: the problem's code, or `left`. */
    gone: CustomEvent<{ code: string; message?: string }>;
  }
}
