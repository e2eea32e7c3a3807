// Ledger: rows produced, stored, expired and lost, and why.
import { make } from '../dom.js';
import { formatCount } from '../format.js';
import { ask, lostOf } from './api.js';
import { answerTable, showFooter } from './answer_table.js';
import { paramsOf } from './selection.js';
import type { Tab } from './tab.js';

export const losses: Tab = {
    name: 'losses',
    title: 'Ledger',
    hint: 'Rows produced, stored, expired and lost, with the reasons',
    words: ['session', 'select', 'from', 'until'],
    async open(place) {
        const params = paramsOf(place.selection, ['session', 'select', 'from', 'until']);
        place.offer('losses', params);
        const answer = await place.ask('ledger', (asking) => ask('losses', params, asking));
        const { produced, stored, expired } = answer.ledger;
        const head = make('header', 'head');
        head.append(make('h1', 'title', `${formatCount(produced)} rows produced`), make('p', 'subtitle', `${formatCount(stored)} stored, ${formatCount(expired)} expired, ${formatCount(lostOf(answer.ledger))} lost`));
        place.root.append(head);
        answerTable(place.root, answer, { title: 'Rows by session and event', sorted: 'lost' });
        showFooter(place.root, [answer]);
    },
};
