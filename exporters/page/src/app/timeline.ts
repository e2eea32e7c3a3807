// Timeline: the threads that each CPU ran, by time; tracepoints; entries and utilisation of kernels.
import type { ScheduleData } from '../data.js';
import { make } from '../dom.js';
import { ScheduleView } from '../figure_view.js';
import { ask, askPage, exportUrl } from './api.js';
import { answerTable, showFooter } from './answer_table.js';
import { choiceField, paramsOf } from './selection.js';
import type { Tab } from './tab.js';

const kShown = [['', 'CPUs'], ['tracepoints', 'tracepoints'], ['kernel-entries', 'kernel entries (seL4)'], ['utilisation', 'utilisation (seL4)'], ['counters', 'counters']] as const;

const kEntryTables = ['summary', 'syscalls', 'interrupts', 'durations', 'threads', 'functions'];

export const timeline: Tab = {
    name: 'timeline',
    title: 'Timeline',
    hint: 'What each CPU ran when; tracepoints, kernel entries, utilisation, counters',
    words: ['session', 'select', 'from', 'until'],
    async open(place) {
        const show = kShown.find(([value]) => value === place.state.show)?.[0] ?? '';
        const head = make('div', 'tools');
        head.append(choiceField('Show', kShown.map(([value, name]) => new Option(name, value)), show, (choice) => place.go({ state: choice ? { show: choice } : {} })));
        place.root.append(head);
        const params = paramsOf(place.selection, ['session', 'select', 'from', 'until']);
        if (show !== '') {
            const table = show === 'kernel-entries' ? kEntryTables.find((name) => name === place.state.table) ?? kEntryTables[0] : '';
            if (table !== '') {
                head.append(choiceField('Table', kEntryTables.map((name) => new Option(name, name)), table, (choice) => place.go({ state: { show, table: choice } })));
            }
            place.offer(show, { ...params, table });
            const answer = await place.ask(show, (asking) => ask(show, { ...params, table }, asking));
            answerTable(place.root, answer, { title: kShown.find(([value]) => value === show)![1] });
            showFooter(place.root, [answer]);
            return;
        }
        const file = (as: string) => ({ name: 'timeline, ' + as, file: 'timeline.' + as, url: exportUrl('timeline', { ...params, as }) });
        place.offer('timeline', { ...params, output: 'timeline.html' }, ['html', 'svg', 'png'].map(file));
        const data = await place.ask('timeline', (asking) => askPage<ScheduleData>('timeline', params, asking));
        const view = new ScheduleView(place.root, data, { state: place.state, onState: (state) => place.note(state) });
        place.signal.addEventListener('abort', () => view.destroy());
    },
};
