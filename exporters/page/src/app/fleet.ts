// Fleet: connected and silent targets, losses, and CPU time by target.
import { make, showSwatches } from '../dom.js';
import { Table } from '../table.js';
import { type Answer, ask, reader } from './api.js';
import { showFooter } from './answer_table.js';
import { chartPanel } from './chart_panel.js';
import { timeOf } from './explore.js';
import { formatCount, formatNumber } from '../format.js';
import { choiceField, paramsOf } from './selection.js';
import { SeriesChart } from './series_chart.js';
import type { Place, Tab } from './tab.js';

const kSilentMs = 60_000;
const kSteps = 150;
const kKeys = ['target', 'comm', 'unit', 'container', 'pod', 'arch'];

interface Target {
    name: string;
    labels: string;
    sessions: number;
    lastMs: number;
    state: 'silent' | 'sending' | 'stopped' | 'ended';
    produced: number;
    lost: number;
}

function ageText(ms: number): string {
    const s = Math.round(ms / 1000);
    return s < 0 ? 'in the future' : s < 90 ? `${s} s ago` : s < 5400 ? `${Math.round(s / 60)} min ago` : s < 172_800 ? `${Math.round(s / 3600)} h ago` : `${Math.round(s / 86_400)} days ago`;
}

function targetsOf(targets: Answer, sessions: Answer, losses: Answer): Target[] {
    const ofSession = reader(sessions);
    const states = new Map<string, string>();  // of the newest session, which comes last
    sessions.rows.forEach((row) => states.set(String(ofSession(row, 'target')), String(ofSession(row, 'state'))));
    const ofLoss = reader(losses);
    const sums = new Map<string, [produced: number, lost: number]>();
    for (const row of losses.rows) {
        const sum = sums.get(String(ofLoss(row, 'target'))) ?? [0, 0];
        sums.set(String(ofLoss(row, 'target')), [sum[0] + Number(ofLoss(row, 'produced')), sum[1] + Number(ofLoss(row, 'lost'))]);
    }
    const of = reader(targets);
    return targets.rows.map((row) => {
        const name = String(of(row, 'target'));
        const lastMs = Date.parse(String(of(row, 'last_seen')));
        const said = states.get(name) ?? 'open';  // not among the last sessions
        const [produced, lost] = sums.get(name) ?? [0, 0];
        const state = said === 'ended' || said === 'stopped' ? said : Date.now() - lastMs > kSilentMs ? 'silent' : 'sending';
        return { name, labels: String(of(row, 'labels') ?? ''), sessions: Number(of(row, 'sessions')), lastMs, state, produced, lost };
    });
}

const kStates: Record<Target['state'], string> = {
    silent: 'its session has no end, and nothing came for a minute: the collector or the machine has stopped, or nothing reaches the gateway',
    sending: 'something came within a minute',
    stopped: 'all events were stopped by a control request',
    ended: 'its session has ended',
};

function showTargets(place: Place, targets: Target[]): void {
    const section = make('section', 'list wide');
    const bad = (row: number) => targets[row].state === 'silent' ? 'lost ' : '';
    const order = Object.keys(kStates);
    const table = new Table(section, 'Targets', [
        { title: 'target', isText: true, isPicked: true, value: (i) => targets[i].name, text: (i) => targets[i].name },
        { title: 'state', isText: true, isSorted: true, value: (i) => `${order.indexOf(targets[i].state)} ${targets[i].name}`, text: (i) => targets[i].state, hint: (i) => kStates[targets[i].state], style: bad },
        { title: 'last seen', value: (i) => targets[i].lastMs, text: (i) => ageText(Date.now() - targets[i].lastMs), hint: (i) => timeOf(targets[i].lastMs), style: bad },
        { title: 'rows', value: (i) => targets[i].produced, text: (i) => formatCount(targets[i].produced) },
        { title: 'lost', value: (i) => targets[i].lost, text: (i) => formatCount(targets[i].lost), style: (i) => targets[i].lost > 0 ? 'lost ' : '' },
        { title: 'sessions', value: (i) => targets[i].sessions, text: (i) => formatCount(targets[i].sessions) },
        { title: 'labels', isText: true, value: (i) => targets[i].labels, text: (i) => targets[i].labels },
    ], false, (row) => place.go({ tab: 'explore', selection: { select: `{target=${JSON.stringify(targets[row].name)}}`, session: '' }, state: {} }));
    table.show([...targets.keys()], formatCount(targets.length));
    place.root.append(section);
}

// The amount over time, by a label; dragging selects a time.
async function showSeries(place: Place, root: HTMLElement, key: string): Promise<Answer> {
    const answer = await place.ask('profile over time', (asking) => ask('series', { ...paramsOf(place.selection), by: key, steps: String(kSteps) }, asking));
    const chart = chartPanel(root, `${answer.measure?.event ?? 'samples'} over time (UTC), by ${key}: drag to select a time`, 'series', place.signal,
        (container, host) => new SeriesChart(container, host, answer, (from, until) => place.go({ selection: { from: timeOf(from), until: timeOf(until) } }), place.signal));
    const legend = make('p', 'legend');
    showSwatches(legend, chart.legend());
    root.append(legend);
    return answer;
}

export const fleet: Tab = {
    name: 'fleet',
    title: 'Fleet',
    hint: 'Targets: who sends, who is silent, what was lost, whose time it was',
    words: ['select', 'event', 'from', 'until'],
    async open(place) {
        const key = place.state.by ?? 'target';
        const { targets, sessions, labels } = place.inventory;
        const params = paramsOf(place.selection);
        place.offer('series', { ...params, by: key });
        const losses = await place.ask('losses', (asking) => ask('losses', paramsOf(place.selection, ['select']), asking));
        const all = targetsOf(targets, sessions, losses);
        const counts = (state: Target['state']) => all.filter((one) => one.state === state).length;
        const head = make('header', 'head');
        const lost = all.filter((one) => one.lost > 0).length;
        head.append(make('h1', 'title', formatNumber(all.length, 'target')), make('p', 'subtitle', [...(['silent', 'sending', 'stopped', 'ended'] as const).filter(counts).map((state) => `${formatCount(counts(state))} ${state}`), ...(lost > 0 ? [`${formatCount(lost)} with lost rows`] : [])].join(', ')));
        const of = reader(labels);
        const keys = [...new Set([...kKeys, ...labels.rows.map((row) => String(of(row, 'label')))])];
        head.append(choiceField('By', keys.map((name) => new Option(name, name)), key, (by) => place.go({ state: { by } })));
        const above = make('div', 'above');
        place.root.append(head, above);
        showTargets(place, all);
        const series = await showSeries(place, above, key);
        showFooter(place.root, [losses, series], ['all rows', series.measure?.event ?? 'samples']);
    },
};
