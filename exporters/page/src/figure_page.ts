import { figureView } from './figure_view.js';
import { showPage } from './page.js';

Object.assign(window, { figure: await showPage(figureView) });  // for tests
