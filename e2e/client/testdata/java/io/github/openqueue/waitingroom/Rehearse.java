package io.github.openqueue.waitingroom;

import java.net.HttpURLConnection;
import java.net.URL;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;

/**
 * Waits in each zone of a rehearsal, all at once, with pauses that are so many times as short as told.
 *
 * <p>java Rehearse URL SPEED ZONE...
 */
public final class Rehearse {
    private final String url;
    private final double speed;
    private final String zone;
    private final CountDownLatch ended;
    private String state;

    private Rehearse(String url, double speed, String zone, CountDownLatch ended) {
        this.url = url;
        this.speed = speed;
        this.zone = zone;
        this.ended = ended;
    }

    private void begin() {
        WaitingRoom.Options options = new WaitingRoom.Options(url, zone);
        options.state = state;
        options.agent = "ANDROID";
        WaitingRoom.Clock faster = new WaitingRoom.Clock() {
            @Override long millis() {
                return (long) (System.currentTimeMillis() * speed);
            }

            @Override long real(long millis) {
                return (long) Math.ceil(millis / speed);
            }
        };
        new WaitingRoom(options, Runnable::run, new WaitingRoom.Listener() {
            @Override public void onState(String newest) {
                state = newest;
            }

            @Override public void onUpdate(Update update) { }

            @Override public void onAdmitted(Admission admission) {
                try {
                    HttpURLConnection shop = (HttpURLConnection) new URL(url + "/service").openConnection();
                    shop.setRequestProperty("Authorization", "Bearer " + admission.pass);
                    shop.getResponseCode();
                } catch (java.io.IOException e) {
                    throw new IllegalStateException(e);
                } finally {
                    ended.countDown();
                }
            }

            @Override public void onEnded(WaitException why) {
                if (why.code.equals("token_expired")) {
                    Rehearse.this.begin(); // this user always wants to go on when the place is gone
                } else {
                    ended.countDown();
                }
            }
        }, faster).begin();
    }

    public static void main(String[] args) throws InterruptedException {
        String[] zones = Arrays.copyOfRange(args, 2, args.length);
        CountDownLatch ended = new CountDownLatch(zones.length);
        for (String zone : zones) {
            new Rehearse(args[0], Double.parseDouble(args[1]), zone, ended).begin();
        }
        ended.await();
    }
}
