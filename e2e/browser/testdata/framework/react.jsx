// A shop in React, in its strict mode, around the example of clients/js.
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { Line } from './Line.jsx';

function Shop() {
  const [shown, show] = useState(true);
  window.show = show;
  return shown && <Line onTurn={(pass) => { document.title = `In ${pass.slice(0, 2)}`; }} />;
}

createRoot(document.querySelector('main')).render(<StrictMode><Shop /></StrictMode>);
