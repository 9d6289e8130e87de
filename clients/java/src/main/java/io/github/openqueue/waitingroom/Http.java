package io.github.openqueue.waitingroom;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpRetryException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The calls. */
final class Http {
    /** An answer is some hundred bytes. */
    private static final int MOST_BYTES = 1 << 20;

    private final String url;
    private final ScheduledExecutorService timer;

    Http(String url, ScheduledExecutorService timer) {
        this.url = url;
        this.timer = timer;
    }

    /** What is known of an answer. */
    static final class Answer {
        final int status;
        /** None came that can be used: whether the server has done what was asked is not known. */
        final boolean lost;
        final Map<String, Object> body;
        final long retryAfterMillis;

        Answer(int status, boolean lost, Map<String, Object> body, long retryAfterMillis) {
            this.status = status;
            this.lost = lost;
            this.body = body;
            this.retryAfterMillis = retryAfterMillis;
        }
    }

    /**
     * A 401, whose body HttpURLConnection does not read where that of the request had a fixed length. It may be of something
     * between: that costs no place, for a join finds it by the clientId.
     */
    private static final Answer STRANGE = new Answer(401, false, Collections.<String, Object>singletonMap("code", "token_invalid"), 0);
    private static final Answer NONE = new Answer(0, true, Collections.<String, Object>singletonMap("code", "no_answer"), 0);

    /** Sends one POST, once. */
    Answer ask(String path, Map<String, Object> body) {
        HttpURLConnection connection = null;
        Future<?> limit = null;
        try {
            connection = (HttpURLConnection) new URL(url + path).openConnection();
            limit = timer.schedule(connection::disconnect, WaitingRoom.CALL_MILLIS, TimeUnit.MILLISECONDS);
            return send(connection, Json.write(body).getBytes(StandardCharsets.UTF_8));
        } catch (HttpRetryException e) {
            return e.responseCode() == 401 ? STRANGE : NONE;
        } catch (IOException | RuntimeException e) { // some versions of Android throw the latter for the network's faults
            return NONE;
        } finally {
            if (limit != null) {
                limit.cancel(false);
            }
            if (connection != null) {
                connection.disconnect();
            }
        }
    }

    private static Answer send(HttpURLConnection connection, byte[] body) throws IOException {
        connection.setConnectTimeout(WaitingRoom.CALL_MILLIS);
        connection.setReadTimeout(WaitingRoom.CALL_MILLIS);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setRequestMethod("POST");
        connection.setRequestProperty("Content-Type", "application/json");
        connection.setDoOutput(true);
        // A body of fixed length is not sent a second time by the library when a connection breaks.
        connection.setFixedLengthStreamingMode(body.length);
        try (OutputStream out = connection.getOutputStream()) {
            out.write(body);
        }
        int status = connection.getResponseCode();
        if (status == 401 && connection.getErrorStream() == null) {
            return STRANGE;
        }
        return read(status, connection.getHeaderField("Retry-After"), content(connection, status));
    }

    private static String content(HttpURLConnection connection, int status) throws IOException {
        InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        if (in == null) {
            return "";
        }
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        byte[] some = new byte[8192];
        for (int n; (n = in.read(some)) >= 0; ) {
            text.write(some, 0, n);
            if (text.size() > MOST_BYTES) {
                throw new IOException("the answer is too long");
            }
        }
        return new String(text.toByteArray(), StandardCharsets.UTF_8);
    }

    /** Holds an answer against what the API promises of it. */
    private static Answer read(int status, String retryAfter, String text) {
        Map<String, Object> body = Json.object(text);
        if (status == 200) {
            boolean whole = !Json.text(body, "token").isEmpty() && (Json.isTrue(body, "canEnter")
                ? !Json.text(Json.object(body, "admission"), "pass").isEmpty()
                : Json.number(Json.object(body, "waiting"), "pollingPeriod") > 0);
            return whole ? new Answer(status, false, body, 0) : NONE;
        }
        long seconds = 0;
        try {
            seconds = retryAfter == null ? 0 : Long.parseLong(retryAfter.trim());
        } catch (NumberFormatException e) {
            // a date: not of this room
        }
        // The room's problems have a type that ends with their code, and its 503 says when to come again. Others are of
        // something between.
        boolean ours = status >= 400 && status < 500
            && Json.text(body, "type").endsWith("#" + Json.text(body, "code")) && !Json.text(body, "code").isEmpty();
        if (ours || status == 503 && seconds > 0 && !body.isEmpty()) {
            return new Answer(status, false, body, 1000 * Math.max(1, seconds));
        }
        return new Answer(status, true, body, 0);
    }
}
