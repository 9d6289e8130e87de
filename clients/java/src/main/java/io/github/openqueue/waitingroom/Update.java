package io.github.openqueue.waitingroom;

import java.util.Map;

/** What a person who waits may want to see. */
public final class Update {
    /** What the room says. */
    public enum State {
        /** There is a place: the other fields tell of it. */
        WAITING,
        /** The token was not of this room: a new place is being taken. */
        JOINING,
        /** Too many requests, or the line is full. The place is kept. */
        BUSY,
        /** The room cannot answer now. The place is kept. */
        UNAVAILABLE,
        /** No answer came. The place is kept. */
        RETRYING
    }

    public final State state;
    /** The problem's code, such as {@code line_full}; {@code no_answer} where none came; empty while waiting. */
    public final String code;
    /** The reference of the place, to show and to log: 14 digits and capital letters. It is no secret. Empty but while waiting. */
    public final String placeId;
    /** 1 for the next. It never rises. 0 while people gather for an event: nobody has a number then. */
    public final long position;
    /** How many wait. */
    public final long total;
    /** Milliseconds. A day, the most, also means "not at present". */
    public final long estimatedWait;
    /** The wait lies in it four times of five: show it rather than {@link #estimatedWait}. Null where it is not known. */
    public final Range range;
    /**
     * Why the estimate moved: {@code on_hold} as long as nobody enters; for a minute {@code resumed}, {@code faster},
     * {@code slower}, {@code recovering}. Empty as a rule. Others may be added: say nothing then.
     */
    public final String reason;
    /** Milliseconds until the next poll. */
    public final long pollingPeriod;
    /** Another number is another message of the operator; its text: {@code GET /traffic/zones/ZONE}. 0 without one. */
    public final long notice;
    /** The zone lets nobody in at present. */
    public final boolean paused;
    /** The event for which people gather, until it opens; empty without one. */
    public final String event;
    /** Milliseconds from now until it opens, to count down from; -1 while that is not known. */
    public final long opensIn;

    Update(State state, String code) {
        this(state, code, Json.object("{}"));
    }

    Update(Map<String, Object> answer) {
        this(State.WAITING, "", answer);
    }

    private Update(State state, String code, Map<String, Object> answer) {
        Map<String, Object> waiting = Json.object(answer, "waiting");
        this.state = state;
        this.code = code;
        this.placeId = Json.text(answer, "placeId");
        this.position = Json.number(waiting, "position");
        this.total = Json.number(waiting, "total");
        this.estimatedWait = Json.number(waiting, "estimatedWait");
        Map<String, Object> range = Json.object(waiting, "estimatedWaitRange");
        this.range = range.isEmpty() ? null : new Range(Json.number(range, "low"), Json.number(range, "high"));
        this.reason = Json.text(waiting, "reason");
        this.pollingPeriod = Json.number(waiting, "pollingPeriod");
        this.notice = Json.number(waiting, "notice");
        this.paused = Json.isTrue(waiting, "paused");
        Map<String, Object> event = Json.object(waiting, "event");
        this.event = Json.text(event, "name");
        this.opensIn = event.containsKey("opensIn") ? Json.number(event, "opensIn") : -1;
    }
}
