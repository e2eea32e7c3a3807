import type { FlameData } from './data.js';
import { FlameView } from './flame_view.js';
import { showPage } from './page.js';

Object.assign(window, { page: await showPage((root, data: FlameData, link) => new FlameView(root, data, link)) });  // for tests
