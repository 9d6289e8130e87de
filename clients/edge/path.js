// Paths and queries of a visitor's address, as the server's gate reads them (internal/site/bypass.go).

// The parameters that a query may have which a pattern with parameters matches.
const MOST = 100;

// cut returns what is before and behind the first of a text.
export const cut = (text, at) => (text.includes(at) ? [text.slice(0, text.indexOf(at)), text.slice(text.indexOf(at) + 1)] : [text]);

// written returns path and query of a URL as they are written: Workers hand them on to the shop so, and new URL() would read
// /checkout/%2e%2e/assets/x as /assets/x. What no header may have is encoded.
export const written = (url) => /^[^:]*:\/\/[^/\\?#]*([^#]*)/.exec(url)[1].replace(/^(?!\/)/, '/').replace(/[^!-~]+/g, encodeURI);

// takeOut takes a parameter out of a URI, and returns what is left and the value.
export function takeOut(uri, name) {
  const [path, query = ''] = cut(uri, '?');
  const mine = (part) => part.startsWith(`${name}=`);
  const value = query.split('&').filter(mine).pop()?.slice(name.length + 1);
  const rest = query.split('&').filter((part) => !mine(part)).join('&');
  return value ? [path + (rest && `?${rest}`), value] : [uri];
}

// matches reports whether all of the text matches a pattern, in which * is any text.
function matches(pattern, text) {
  const [first, ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined || !text.startsWith(first)) return text === pattern;
  let at = first.length;
  for (const part of parts) {
    const i = text.indexOf(part, at);
    if (i < 0) return false;
    at = i + part.length;
  }
  return at + last.length <= text.length && text.endsWith(last);
}

const letters = (name) => name.replace(/[^a-z\d]/gi, '').toLowerCase();

// fits reports whether a URI has the path and the parameters of a pattern, and others only if the pattern ends in &*. No other
// parameter may be one that a site could read by a name of the pattern: route[]=, Route= and %20route= as route.
export function fits(uri, pattern) {
  const [raw, query = ''] = cut(uri, '?');
  const [want, parameters] = cut(pattern, '?');
  const path = plain(raw);
  if (path === undefined || !matches(want, path)) return false;
  if (parameters === undefined) return true;
  const has = [...new URLSearchParams(query)];
  const others = parameters.endsWith('&*');
  const named = new Map((others ? parameters.slice(0, -2) : parameters).split('&').map((p) => cut(p, '=')));
  const read = new Set([...named.keys()].map(letters));
  const readAs = (name) => /[^ -~]/.test(name) || [name, ...name.split(/[[\]]/).filter(Boolean)].some((part) => read.has(letters(part)));
  const good = (value, v) => (value.includes('*') ? v !== '' && !/[\\\0]|\.\./.test(v) && matches(value, v) : v === value);
  return !/;|%(?![\da-f]{2})/i.test(query) && has.length <= MOST && [...named.keys()].every((name) => has.some(([n]) => n === name))
    && has.every(([name, v]) => (named.has(name) ? good(named.get(name) ?? '', v) : others && !readAs(name)));
}

// plain returns the path, decoded; undefined for one that a site may read as another: /assets/..;/checkout may be /checkout there.
export function plain(raw) {
  try {
    const path = decodeURIComponent(raw);
    return /%2f|%5c/i.test(raw) || /[\\%#;?\0]|\.\.|\/\/|\/\.(\/|$)/.test(path) ? undefined : path;
  } catch {
    return undefined;
  }
}
