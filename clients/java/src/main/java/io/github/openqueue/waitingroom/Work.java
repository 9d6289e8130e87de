package io.github.openqueue.waitingroom;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The work of a challenge, as ALTCHA (version 2) has it: a counter of which scrypt (RFC 7914) derives a key with the prefix. */
final class Work {
    private static final char[] BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".toCharArray();

    private final int n;
    private final int r;
    private final int p;
    private final byte[] nonce;
    private final byte[] salt;
    private final String prefix;

    private Work(Map<String, Object> parameters) {
        n = (int) Json.number(parameters, "cost");
        r = (int) Json.number(parameters, "memoryCost");
        p = (int) Json.number(parameters, "parallelism");
        nonce = bytes(Json.text(parameters, "nonce"));
        salt = bytes(Json.text(parameters, "salt"));
        prefix = Json.text(parameters, "keyPrefix");
    }

    /** Does the work on all cores. Returns what a join has to show; "" where it was interrupted. */
    static String solve(Map<String, Object> challenge) {
        Map<String, Object> parameters = Json.object(challenge, "parameters");
        int counter = new Work(parameters).search(Math.max(1, Math.min(8, Runtime.getRuntime().availableProcessors())));
        if (counter < 0) {
            return "";
        }
        Map<String, Object> given = new LinkedHashMap<>();
        given.put("parameters", parameters);
        given.put("signature", Json.text(challenge, "signature"));
        Map<String, Object> solution = new LinkedHashMap<>();
        solution.put("counter", counter);
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("challenge", given);
        shown.put("solution", solution);
        return base64(Json.write(shown).getBytes(StandardCharsets.UTF_8));
    }

    private int search(int cores) {
        AtomicInteger found = new AtomicInteger(-1);
        Thread[] threads = new Thread[cores];
        for (int i = 0; i < cores; i++) {
            int first = i;
            threads[i] = new Thread(() -> {
                int[] memory = new int[32 * r * n];
                for (int counter = first; found.get() < 0 && !Thread.currentThread().isInterrupted(); counter += cores) {
                    if (fits(counter, memory)) {
                        found.compareAndSet(-1, counter);
                    }
                }
            }, "waiting-room-work");
            threads[i].setDaemon(true);
            threads[i].start();
        }
        try {
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (InterruptedException e) {
            for (Thread thread : threads) {
                thread.interrupt();
            }
            Thread.currentThread().interrupt();
            return -1;
        }
        return found.get();
    }

    private boolean fits(int counter, int[] memory) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(ByteBuffer.allocate(nonce.length + 4).put(nonce).putInt(counter).array(), "HmacSHA256"));
            ByteBuffer blocks = ByteBuffer.wrap(stretch(mac, salt, 128 * r * p)).order(ByteOrder.LITTLE_ENDIAN);
            int[] block = new int[32 * r];
            for (int at = 0; at < 128 * r * p; at += 128 * r) {
                for (int i = 0; i < block.length; i++) {
                    block[i] = blocks.getInt(at + 4 * i);
                }
                mix(block, memory);
                for (int i = 0; i < block.length; i++) {
                    blocks.putInt(at + 4 * i, block[i]);
                }
            }
            StringBuilder key = new StringBuilder();
            for (byte b : stretch(mac, blocks.array(), 32)) {
                key.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
            return key.indexOf(prefix) == 0;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java and Android has HmacSHA256", e);
        }
    }

    /** PBKDF2 with one round. */
    private static byte[] stretch(Mac mac, byte[] salt, int length) {
        ByteBuffer out = ByteBuffer.allocate((length + 31) / 32 * 32);
        for (int i = 1; out.hasRemaining(); i++) {
            mac.update(salt);
            out.put(mac.doFinal(ByteBuffer.allocate(4).putInt(i).array()));
        }
        return java.util.Arrays.copyOf(out.array(), length);
    }

    /** scryptROMix. */
    private void mix(int[] block, int[] memory) {
        int size = block.length;
        int[] next = new int[size];
        int[] x = new int[16];
        for (int i = 0; i < n; i++) {
            System.arraycopy(block, 0, memory, i * size, size);
            blockMix(block, next, x);
        }
        for (int i = 0; i < n; i++) {
            int at = (block[size - 16] & n - 1) * size;
            for (int k = 0; k < size; k++) {
                block[k] ^= memory[at + k];
            }
            blockMix(block, next, x);
        }
    }

    /** scryptBlockMix, in place. */
    private void blockMix(int[] block, int[] next, int[] x) {
        System.arraycopy(block, block.length - 16, x, 0, 16);
        for (int i = 0; i < 2 * r; i++) {
            for (int k = 0; k < 16; k++) {
                x[k] ^= block[16 * i + k];
            }
            salsa(x);
            System.arraycopy(x, 0, next, (i / 2 + i % 2 * r) * 16, 16);
        }
        System.arraycopy(next, 0, block, 0, block.length);
    }

    /** Salsa20/8, in place. */
    private static void salsa(int[] block) {
        int[] x = block.clone();
        for (int i = 0; i < 4; i++) {
            for (int k = 0; k < 4; k++) { // the columns
                quarter(x, 5 * k, (5 * k + 4) % 16, (5 * k + 8) % 16, (5 * k + 12) % 16);
            }
            for (int k = 0; k < 4; k++) { // the rows
                int row = 4 * k;
                quarter(x, 5 * k, row + (k + 1) % 4, row + (k + 2) % 4, row + (k + 3) % 4);
            }
        }
        for (int k = 0; k < 16; k++) {
            block[k] += x[k];
        }
    }

    private static void quarter(int[] x, int a, int b, int c, int d) {
        x[b] ^= Integer.rotateLeft(x[a] + x[d], 7);
        x[c] ^= Integer.rotateLeft(x[b] + x[a], 9);
        x[d] ^= Integer.rotateLeft(x[c] + x[b], 13);
        x[a] ^= Integer.rotateLeft(x[d] + x[c], 18);
    }

    private static byte[] bytes(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    /** As java.util.Base64, which Android has from API 26 on. */
    private static String base64(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < bytes.length; i += 3) {
            int group = (bytes[i] & 255) << 16 | (i + 1 < bytes.length ? bytes[i + 1] & 255 : 0) << 8 | (i + 2 < bytes.length ? bytes[i + 2] & 255 : 0);
            for (int k = 0; k < 4; k++) {
                text.append(i + k > bytes.length ? '=' : BASE64[group >> 18 - 6 * k & 63]);
            }
        }
        return text.toString();
    }
}
