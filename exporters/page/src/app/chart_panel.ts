// A chart with its title, for the application's views: the item under the pointer, and the selected one.
import type { ChartHost } from '../chart.js';
import { make } from '../dom.js';
import { hideTip, showTip } from '../tip.js';
import { onTheme } from '../theme.js';
import type { Chart } from '../chart.js';

export function chartPanel<Kind extends Chart>(root: HTMLElement, title: string, style: string, signal: AbortSignal, makeChart: (container: HTMLElement, host: ChartHost) => Kind): Kind {
    const section = make('section', 'panel ' + style);
    const container = make('div', 'graph');
    const canvas = make('canvas');
    const live = make('p', 'live unseen');
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('aria-label', title + ': arrow keys walk, Enter selects');
    live.setAttribute('aria-live', 'polite');
    section.setAttribute('aria-label', title);
    container.append(canvas);
    section.append(make('h2', '', title), container, live);
    root.append(section);
    const chart: Kind = makeChart(container, {
        onHover(item, event) {
            if (item < 0 || event.pointerType === 'touch') {
                hideTip();
                return;
            }
            const [head, ...lines] = chart.describe(item);
            showTip(event, head, lines);
        },
        onSelect(item) {
            live.textContent = item < 0 ? '' : chart.describe(item).join('; ');
        },
        onZoom() {},
    });
    chart.drawNow();
    onTheme(() => chart.drawNow(), signal);
    signal.addEventListener('abort', hideTip);
    return chart;
}
