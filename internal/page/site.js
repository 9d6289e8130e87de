// For pages that no gateway sees, since they come from a CDN, a service worker or a cache, and whose calls of the site
// have no session: see docs/integrate/site.md. A refused call leads to the waiting page and back, where the pass becomes a session.
(() => {
  'use strict';
  const parameter = 'waiting_room_pass';
  if (!self.document) { // a worker leaves the waiting page, and the way back from it, to the network
    self.addEventListener('fetch', (event) => {
      const url = new URL(event.request.url);
      if (/^\/(wait|traffic)\//.test(url.pathname) || url.searchParams.has(parameter)) event.stopImmediatePropagation();
    });
    return;
  }
  const { fetch } = self;
  const { send } = XMLHttpRequest.prototype;
  const arrived = location.href;
  const pass = new URL(arrived).searchParams.get(parameter);

  const look = async (answer, back = location.href) => {
    const problem = answer.status === 429 ? await answer.clone().json().catch(() => null) : null;
    if (problem?.code !== 'admission_required') return answer;
    const room = new URL(problem.page, location);
    if (room.origin === location.origin) back = back.slice(location.origin.length);
    room.searchParams.set('to', back);
    // A worker that answers for the waiting page, too, would go round for ever.
    if (location.pathname === room.pathname) console.error('A service worker answers for the waiting page: it has to import site.js first');
    else location.assign(room);
    return answer;
  };

  let ready = Promise.resolve();
  if (pass) {
    history.replaceState(history.state, '', arrived.replace(/([?&])waiting_room_pass=[^&#]*(&?)/, (_, before, after) => (after ? before : '')));
    const call = document.currentScript?.dataset.call ?? location.pathname;
    // A pass that is not good any more goes along to the page, which then gives a new place.
    ready = fetch(call, { cache: 'no-store', headers: { 'X-Waiting-Room-Pass': pass } }).then((answer) => look(answer, arrived)).catch(() => {});
  }
  self.fetch = (...args) => ready.then(() => fetch(...args)).then((answer) => look(answer));
  XMLHttpRequest.prototype.send = function (...args) {
    this.addEventListener('load', () => {
      if (this.status === 429) look(new Response(this.responseType === 'json' ? JSON.stringify(this.response) : this.response, { status: 429 }));
    });
    if (pass) ready.then(() => send.apply(this, args));
    else send.apply(this, args);
  };
})();
