package io.github.openqueue.waitingroom;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** As much JSON (RFC 8259) as the room speaks: Android's org.json is not in Java. */
final class Json {
    /** Deeper texts are not the room's. */
    private static final int MOST_DEPTH = 32;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The object that a text is; empty for any other text. */
    static Map<String, Object> object(String text) {
        if (text == null) {
            return Collections.emptyMap();
        }
        try {
            Json json = new Json(text);
            Object value = json.value(0);
            json.space();
            return json.at == text.length() ? asObject(value) : Collections.<String, Object>emptyMap();
        } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
            return Collections.emptyMap();
        }
    }

    static Map<String, Object> object(Map<String, Object> of, String name) {
        return asObject(of.get(name));
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> asObject(Object value) {
        return value instanceof Map ? (Map<String, Object>) value : Collections.<String, Object>emptyMap();
    }

    /** A member that is a text; "" for any other. */
    static String text(Map<String, Object> of, String name) {
        Object value = of.get(name);
        return value instanceof String ? (String) value : "";
    }

    /** A member that is a number, without its fraction; 0 for any other. */
    static long number(Map<String, Object> of, String name) {
        Object value = of.get(name);
        return value instanceof Double ? ((Double) value).longValue() : 0;
    }

    static boolean isTrue(Map<String, Object> of, String name) {
        return Boolean.TRUE.equals(of.get(name));
    }

    /** Writes an object of texts, whole numbers and such objects. */
    static String write(Map<String, Object> object) {
        StringBuilder out = new StringBuilder("{");
        for (Map.Entry<String, Object> member : object.entrySet()) {
            out.append(out.length() > 1 ? "," : "");
            quote(out, member.getKey());
            out.append(':');
            Object value = member.getValue();
            if (value instanceof Map) {
                out.append(write(asObject(value)));
            } else if (value instanceof Number) {
                out.append(((Number) value).longValue());
            } else {
                quote(out, (String) value);
            }
        }
        return out.append('}').toString();
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ' || c == '"' || c == '\\' || Character.isSurrogate(c)) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private Object value(int depth) {
        if (depth > MOST_DEPTH) {
            throw new IllegalArgumentException();
        }
        space();
        switch (text.charAt(at)) {
            case '{': return members(depth);
            case '[': return items(depth);
            case '"': return string();
            case 't': return word("true", Boolean.TRUE);
            case 'f': return word("false", Boolean.FALSE);
            case 'n': return word("null", null);
            default: return numeral();
        }
    }

    private Map<String, Object> members(int depth) {
        Map<String, Object> all = new LinkedHashMap<>();
        at++;
        for (space(); text.charAt(at) != '}'; space()) {
            if (!all.isEmpty()) {
                want(',');
                space();
            }
            String name = string();
            space();
            want(':');
            all.put(name, value(depth + 1));
        }
        at++;
        return all;
    }

    private List<Object> items(int depth) {
        List<Object> all = new ArrayList<>();
        at++;
        for (space(); text.charAt(at) != ']'; space()) {
            if (!all.isEmpty()) {
                want(',');
            }
            all.add(value(depth + 1));
        }
        at++;
        return all;
    }

    private String string() {
        want('"');
        StringBuilder out = new StringBuilder();
        for (char c; (c = text.charAt(at++)) != '"'; ) {
            if (c != '\\') {
                out.append(c);
                continue;
            }
            c = text.charAt(at++);
            int simple = "\"\\/bfnrt".indexOf(c);
            if (simple >= 0) {
                out.append("\"\\/\b\f\n\r\t".charAt(simple));
            } else if (c == 'u') {
                out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                at += 4;
            } else {
                throw new IllegalArgumentException();
            }
        }
        return out.toString();
    }

    private Double numeral() {
        int from = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return Double.valueOf(text.substring(from, at));
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw new IllegalArgumentException();
        }
        at += word.length();
        return value;
    }

    private void want(char c) {
        if (text.charAt(at++) != c) {
            throw new IllegalArgumentException();
        }
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }
}
