package io.github.openqueue.waitingroom;

import java.util.Map;

/** The end of a wait: what lets the visitor in. */
public final class Admission {
    public final String zone;
    /** The JSON Web Token that the service behind the room verifies. */
    public final String pass;
    /** Unix milliseconds, on the room's clock. */
    public final long admittedAt;
    /** When the pass ends, in Unix milliseconds on the room's clock. */
    public final long expiresAt;

    Admission(String zone, Map<String, Object> admission) {
        this.zone = zone;
        this.pass = Json.text(admission, "pass");
        this.admittedAt = Json.number(admission, "admittedAt");
        this.expiresAt = Json.number(admission, "expiresAt");
    }
}
