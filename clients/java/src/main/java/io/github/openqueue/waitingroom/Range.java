package io.github.openqueue.waitingroom;

/** A range of time, in milliseconds, or rounded for people to minutes or hours. */
public final class Range {
    private static final double MINUTE = 60_000;
    private static final double HOUR = 60 * MINUTE;

    /** What the ends count. */
    public enum Unit { MILLISECOND, MINUTE, HOUR }

    /** Of a rounded range, 0 is "up to", and the same as {@link #high} is "about". */
    public final double low;
    /** Of a rounded range with a low of 0 in minutes, 1 is "less than a minute". */
    public final double high;
    public final Unit unit;

    Range(double low, double high) {
        this(low, high, Unit.MILLISECOND);
    }

    private Range(double low, double high, Unit unit) {
        this.low = low;
        this.high = high;
        this.unit = unit;
    }

    /**
     * Rounds a range of milliseconds outward: to minutes, from ten on to five of them, from 90 on to half hours and from
     * six hours on to hours. An end that is a tenth of a step beyond a figure is that figure.
     *
     * @param shown what it returned for the answer before, or null: an end stays until it is a quarter of a step beyond
     * @return null where the wait may be a day and more
     */
    public Range round(Range shown) {
        if (!(high < 24 * HOUR)) {
            return null;
        }
        if (high <= 1.5 * MINUTE) {
            return new Range(high > MINUTE ? 1 : 0, 1, Unit.MINUTE);
        }
        boolean hours = high > (shown != null && shown.unit == Unit.HOUR ? 80 : 90) * MINUTE;
        Unit to = hours ? Unit.HOUR : Unit.MINUTE;
        boolean same = shown != null && shown.unit == to;
        return new Range(end(-1, low, hours, same ? shown.low : Double.NaN), end(1, high, hours, same ? shown.high : Double.NaN), to);
    }

    /** Such as "4 to 6 MINUTE". */
    @Override
    public String toString() {
        return number(low) + " to " + number(high) + " " + unit;
    }

    private static String number(double n) {
        return n == Math.rint(n) ? Long.toString((long) n) : Double.toString(n);
    }

    private static double end(int outward, double millis, boolean hours, double was) {
        double n = millis / (hours ? HOUR : MINUTE);
        double step = hours ? n < 6 ? 0.5 : 1 : n < 10 ? 1 : 5;
        double kept = outward * (was - n) / step; // not a number without one that is shown
        if (kept >= -0.25 && kept <= 1.25) {
            return was;
        }
        return outward * Math.ceil(outward * n / step - 0.1) * step + 0.0;
    }
}
