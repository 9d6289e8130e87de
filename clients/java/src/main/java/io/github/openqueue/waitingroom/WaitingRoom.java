package io.github.openqueue.waitingroom;

import java.security.SecureRandom;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Waits in the line of a waiting room, as its server asks, and hands over the pass. One object is one wait: {@link #join}
 * begins it, and it ends with {@link Listener#onAdmitted}, {@link Listener#onEnded}, {@link #cancel} or {@link #leave}.
 *
 * <pre>{@code
 * WaitingRoom.Options options = new WaitingRoom.Options("https://queue.shop.example", "SHOP");
 * options.state = preferences.getString("place", null);
 * WaitingRoom wait = WaitingRoom.join(options, mainExecutor, new WaitingRoom.Listener() {
 *     public void onState(String state) { preferences.edit().putString("place", state).apply(); }
 *     public void onUpdate(Update update) { show(update); }
 *     public void onAdmitted(Admission admission) { enter(admission.pass); }
 *     public void onEnded(WaitException why) { showError(why); }
 * });
 * }</pre>
 *
 * <p>What each answer asks of a client is the table in {@code /openapi.yaml} of a server; {@link #handle} is that table.
 * All methods may be called by any thread. Needs Java 8 or Android 5.0 (API level 21), and no library.
 */
public final class WaitingRoom {
    /** A call that has no answer after so many milliseconds counts as lost. */
    static final int CALL_MILLIS = 3000;
    /** The longest pause after calls that got no answer, in milliseconds: the pauses are 1, 2, 4, 8 and every 16 s. */
    private static final long LONGEST_BACKOFF_MILLIS = 16_000;

    /** How often a wait looks at the wall clock, in milliseconds: timers stand still while a device sleeps. */
    private static final long LOOK_EVERY_MILLIS = 5_000;

    /** How many challenges in a row are met. */
    private static final int MOST_CHALLENGES = 5;

    /** Shows the widget of a provider, where a zone asks for its token. */
    public interface Tokens {
        /**
         * @param kind {@code turnstile}, {@code hcaptcha} or {@code recaptcha}
         * @return the token; null to end the wait. The thread of the wait's calls may be blocked
         */
        String token(String kind, String siteKey, String action);
    }

    /** Where and how to wait. */
    public static final class Options {
        final String url;
        final String zone;
        /**
         * What only this installation knows: a random UUID that the app keeps, or the name under which the shop knows a
         * member. A repeated join with it finds the same place. Without one, one is made and is part of the state.
         */
        public String clientId;
        /** What {@link Listener#onState} was told last: the place goes on where it was, also after the process was ended. */
        public String state;
        /** What the operator counts visitors by, such as {@code ANDROID}: letters, digits and {@code _}. */
        public String agent;
        /** The invitation, where the zone takes who is invited: a JSON Web Token that the shop has signed. */
        public String ticket;
        /** Gets tokens of providers. Work needs nothing: the wait does it. */
        public Tokens tokens;

        /**
         * @param url the waiting room's origin, such as {@code https://queue.shop.example}
         * @param zone the zone to wait in, exactly as the operator named it
         */
        public Options(String url, String zone) {
            this.url = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
            this.zone = zone;
        }
    }

    /** Hears of the wait, on the executor that {@link #join} was given, one call after the other. */
    public interface Listener {
        /** Keep this where it outlives the process, in place of what was told before. {@link Options#state} takes it. */
        void onState(String state);

        /** After each answer that asks to wait, and after each call that got no answer. */
        void onUpdate(Update update);

        /** The wait is over: send the pass to the service, before it expires. No call follows. */
        void onAdmitted(Admission admission);

        /** The room says that there is nothing to wait for. No call follows. */
        void onEnded(WaitException why);
    }

    private final Options options;
    private final Executor executor;
    private final Listener listener;
    private final Clock clock;
    /** One thread, so that one call is made after the other; the other thread ends calls that take too long. */
    private final ScheduledExecutorService calls = daemon();
    private final ScheduledExecutorService limits = daemon();
    private final Http http;

    // Of the thread of calls alone.
    private final String clientId;
    private String token;
    private int failures;
    /** The solution of the latest challenge: it is sent until there is a place. */
    private String solution;
    private int challenges;

    // Guarded by this.
    private boolean over;
    private ScheduledFuture<?> next;
    private long pausedAt;
    private long left;

    /**
     * Joins the line, or goes on with the place of {@link Options#state}, and returns at once.
     *
     * @param executor on which the listener hears; on Android {@code context.getMainExecutor()} or a Handler's
     */
    public static WaitingRoom join(Options options, Executor executor, Listener listener) {
        WaitingRoom room = new WaitingRoom(options, executor, listener, new Clock());
        room.begin();
        return room;
    }

    WaitingRoom(Options options, Executor executor, Listener listener, Clock clock) {
        this.options = options;
        this.executor = executor;
        this.listener = listener;
        this.clock = clock;
        this.http = new Http(options.url, limits);
        Map<String, Object> kept = Json.object(options.state);
        this.token = Json.text(kept, "token");
        String id = options.clientId != null ? options.clientId : Json.text(kept, "clientId");
        this.clientId = id.isEmpty() ? randomId() : id;
    }

    private static ScheduledExecutorService daemon() {
        return Executors.newSingleThreadScheduledExecutor(work -> {
            Thread thread = new Thread(work, "waiting-room");
            thread.setDaemon(true);
            return thread;
        });
    }

    void begin() {
        keep(token); // before the first call: if its answer is lost, the next one finds the place
        pause(0);
    }

    /** Ends the wait on this device. The zone keeps the place for some minutes: {@link Options#state} goes on with it. */
    public synchronized void cancel() {
        over = true;
        calls.shutdownNow();
        limits.shutdownNow();
    }

    /** Ends the wait and gives the place up, so that the line is as long as it looks. The listener hears no more but the state. */
    public synchronized void leave() {
        if (over) {
            return;
        }
        if (next != null) {
            next.cancel(false);
        }
        calls.execute(() -> {
            if (!token.isEmpty()) {
                http.ask("/traffic/leave", body("token", token)); // a lost call costs nobody anything
            }
            keep("");
            cancel();
        });
    }

    /**
     * Call this when the device wakes or its network comes back, such as in {@code onResume}: timers stand still while a
     * device sleeps. It polls at once if the time has come, and never before. Without it, a wait polls within 5 s of waking.
     */
    public synchronized void wake() {
        if (next != null && !over && next.cancel(false)) {
            goOn();
        }
    }

    /** Waits for what is left of a pause on the wall clock, and then calls. */
    private synchronized void goOn() {
        // A clock that was set back makes nobody wait for much longer than told.
        pause(left - Math.max(0, clock.millis() - pausedAt));
    }

    private synchronized void pause(long millis) {
        if (over) {
            return;
        }
        pausedAt = clock.millis();
        left = Math.max(0, millis);
        Runnable then = left > 0 ? this::goOn : this::call;
        next = calls.schedule(then, clock.real(Math.min(left, LOOK_EVERY_MILLIS)), TimeUnit.MILLISECONDS);
    }

    private void call() {
        boolean join = token.isEmpty();
        Http.Answer answer = join
            ? http.ask("/traffic/wait", body("clientId", clientId, "clientAgent", options.agent, "ticket", options.ticket, "challenge", solution))
            : http.ask("/traffic/entry", body("token", token));
        synchronized (this) {
            if (over) {
                return; // what a cancelled wait was answered is for nobody
            }
        }
        handle(answer, join);
    }

    /** Does what an answer asks for: the table of the API, row by row. */
    private void handle(Http.Answer answer, boolean join) {
        failures = answer.lost ? failures + 1 : 0;
        if (answer.lost) {
            // No answer, a 500, or one that cannot be read. The place is kept.
            long pause = Math.min(1000L << Math.min(failures - 1, 10), LONGEST_BACKOFF_MILLIS);
            tell(Update.State.RETRYING, answer, (long) (pause * (1 + Math.random() / 4)));
            return;
        }
        switch (answer.status) {
            case 200:
                keep(Json.text(answer.body, "token"));
                if (Json.isTrue(answer.body, "canEnter")) {
                    Admission admission = new Admission(options.zone, Json.object(answer.body, "admission"));
                    finish(() -> listener.onAdmitted(admission));
                } else {
                    Update waiting = new Update(answer.body);
                    update(waiting, waiting.pollingPeriod);
                }
                return;
            case 408:
            case 429:
                tell(Update.State.BUSY, answer, answer.retryAfterMillis);
                return;
            case 503:
                tell(Update.State.UNAVAILABLE, answer, answer.retryAfterMillis);
                return;
            case 401:
                if (!join) {
                    keep(""); // the token is not of this room: a new place is taken, once
                    tell(Update.State.JOINING, answer, 0);
                    return;
                }
                break;
            case 403:
                if (join && meet(Json.object(answer.body, "challenge"))) {
                    pause(0);
                    return;
                }
                break;
            case 410:
                keep("");
                break;
            default:
                break;
        }
        WaitException why = new WaitException(answer.status, answer.body);
        finish(() -> listener.onEnded(why));
    }

    /** Finds what a join has to show for a challenge; false where there is none, or where it cannot be met. */
    private boolean meet(Map<String, Object> challenge) {
        if (challenge.isEmpty() || ++challenges > MOST_CHALLENGES) {
            return false;
        }
        if (Json.text(challenge, "kind").equals("work")) {
            solution = Work.solve(challenge);
        } else {
            solution = options.tokens == null ? "" : options.tokens.token(
                Json.text(challenge, "kind"), Json.text(challenge, "siteKey"), Json.text(challenge, "action"));
        }
        return solution != null && !solution.isEmpty();
    }

    private void tell(Update.State state, Http.Answer answer, long afterMillis) {
        update(new Update(state, Json.text(answer.body, "code")), afterMillis);
    }

    private void update(Update update, long afterMillis) {
        deliver(() -> listener.onUpdate(update));
        pause(afterMillis);
    }

    private void finish(Runnable last) {
        synchronized (this) {
            if (over) {
                return;
            }
            over = true;
        }
        deliver(last);
        calls.shutdown();
        limits.shutdown();
    }

    private void keep(String newest) {
        token = newest;
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("clientId", clientId);
        state.put("token", token);
        String text = Json.write(state);
        deliver(() -> listener.onState(text));
    }

    private void deliver(Runnable call) {
        try {
            executor.execute(call);
        } catch (RejectedExecutionException e) {
            cancel(); // nobody hears any more: the zone keeps the place for some minutes
        }
    }

    private Map<String, Object> body(String... fields) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("zoneId", options.zone);
        for (int i = 0; i < fields.length; i += 2) {
            if (fields[i + 1] != null) {
                body.put(fields[i], fields[i + 1]);
            }
        }
        return body;
    }

    private static String randomId() {
        byte[] bytes = new byte[16];
        new SecureRandom().nextBytes(bytes);
        StringBuilder text = new StringBuilder(32);
        for (byte b : bytes) {
            text.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
        }
        return text.toString();
    }

    /** The wall clock, which goes on while a device sleeps. A test's goes faster. */
    static class Clock {
        long millis() {
            return System.currentTimeMillis();
        }

        /** How long a pause of so many milliseconds takes. */
        long real(long millis) {
            return millis;
        }
    }
}
