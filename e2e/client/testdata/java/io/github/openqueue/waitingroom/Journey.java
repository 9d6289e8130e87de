package io.github.openqueue.waitingroom;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A visitor's phone: it waits, its process is ended, it goes on with what it kept, and gives up in the end. Each line that it
 * prints is a state, an update or an end. The zone lets nobody in.
 *
 * <p>java Journey URL ZONE
 */
public final class Journey {
    private final BlockingQueue<String> heard = new ArrayBlockingQueue<>(1000);
    private volatile String state;

    private WaitingRoom join(String url, String zone) {
        WaitingRoom.Options options = new WaitingRoom.Options(url + "/", zone);
        options.state = state;
        return WaitingRoom.join(options, Runnable::run, new WaitingRoom.Listener() {
            @Override public void onState(String newest) {
                state = newest;
                heard.add("state");
            }

            @Override public void onUpdate(Update update) {
                heard.add(update.state + " " + update.position);
            }

            @Override public void onAdmitted(Admission admission) {
                heard.add("admitted");
            }

            @Override public void onEnded(WaitException why) {
                heard.add(why.code);
            }
        });
    }

    private void await(String what) throws InterruptedException {
        for (String next; !(next = String.valueOf(heard.poll(60, TimeUnit.SECONDS))).equals(what); ) {
            if (next.equals("null")) {
                throw new IllegalStateException("in vain: " + what);
            }
        }
    }

    private static String token(String state) {
        return Json.text(Json.object(state), "token");
    }

    private static void want(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Journey first = new Journey();
        WaitingRoom wait = first.join(args[0], args[1]);
        first.await("WAITING 1");
        wait.wake(); // its time has not come
        wait.cancel();
        String kept = first.state;
        want(!token(kept).isEmpty(), "no token is kept: " + kept);

        Journey second = new Journey();
        second.join(args[0], args[1]);
        second.await("WAITING 2");

        WaitingRoom again = first.join(args[0], args[1]);
        first.await("WAITING 1");
        again.leave();
        while (!token(first.state).isEmpty()) {
            first.await("state");
        }

        Journey nowhere = new Journey();
        nowhere.join(args[0], "NOWHERE");
        nowhere.await("zone_unknown");

        // Ranges, to be held against those of the JavaScript client.
        Range shown = null;
        for (long at = 1; at < 100_000_000; at += at / 7 + 1) {
            shown = new Range(at / 2, at).round(shown);
            System.out.println(shown == null ? "null" : shown.low + " " + shown.high + " " + shown.unit);
        }
    }
}
