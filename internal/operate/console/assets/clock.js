// The server does not know where the operator is and writes times in UTC; here
// they become the browser's own.

const styles = {
  minute: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  second: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  day: { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  full: { day: "2-digit", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
};

export function clockOf(date, style) {
  return date.toLocaleString("en-GB", styles[style]);
}

// localTimes rewrites all times within an element.
export function localTimes(within) {
  for (const el of within.querySelectorAll("time[data-clock]")) {
    const date = new Date(el.dateTime);
    el.textContent = clockOf(date, el.dataset.clock);
    el.title = date.toString();
    delete el.dataset.clock; // once
  }
}

localTimes(document);
