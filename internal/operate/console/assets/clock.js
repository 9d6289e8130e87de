// The server does not know where the operator is and writes times in UTC; here
// they become the browser's own, and say in which zone they are.

const styles = {
  minute: { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" },
  second: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" },
  day: { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" },
  full: { day: "2-digit", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" },
};

export function clockOf(date, style) {
  return date.toLocaleString("en-GB", styles[style]);
}

// universal is the same time in UTC, for whoever compares it with the command line; "" where it is the browser's own.
function universal(date, style) {
  if (style !== "day" || date.getTimezoneOffset() === 0) return "";
  return ` (${date.toLocaleString("en-GB", { ...styles.minute, weekday: "short", timeZone: "UTC" })})`;
}

// localTimes rewrites all times within an element.
export function localTimes(within) {
  for (const el of within.querySelectorAll("time[data-clock]")) {
    const date = new Date(el.dateTime);
    el.textContent = clockOf(date, el.dataset.clock) + universal(date, el.dataset.clock);
    el.title = date.toString();
    delete el.dataset.clock; // once
  }
}

localTimes(document);
