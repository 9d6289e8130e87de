// A shop in Vue around the example of clients/js.
import { createApp, h, ref } from 'vue';

import Line from './Line.vue.js';

const shown = ref(true);
window.show = (is) => { shown.value = is; };
createApp(() => shown.value && h(Line, { onEnter: (pass) => { document.title = `In ${pass.slice(0, 2)}`; } })).mount('main');
