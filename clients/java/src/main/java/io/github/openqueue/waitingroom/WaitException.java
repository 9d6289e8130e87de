package io.github.openqueue.waitingroom;

import java.util.Map;

/** Why a wait ended without a pass. */
public final class WaitException extends Exception {
    private static final long serialVersionUID = 1;

    /** The HTTP status. */
    public final int status;
    /**
     * The problem's code, as in {@code /openapi.yaml}. {@code token_expired}: the place is gone; join again if the person
     * wants to. {@code sold_out}: nobody need wait any more, and the message says why. {@code ticket_missing},
     * {@code ticket_invalid}, {@code ticket_used}: an invitation is needed. {@code zone_closed}, {@code zone_unknown},
     * {@code invalid_request} and others.
     */
    public final String code;

    WaitException(int status, Map<String, Object> problem) {
        super(firstOf(Json.text(problem, "detail"), Json.text(problem, "title"), Json.text(problem, "code"), "HTTP " + status));
        this.status = status;
        this.code = firstOf(Json.text(problem, "code"), "unknown");
    }

    private static String firstOf(String... texts) {
        for (String text : texts) {
            if (!text.isEmpty()) {
                return text;
            }
        }
        return "";
    }
}
