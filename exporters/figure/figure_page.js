// Wires the page of a figure: its chart, what is selected, the table beside it, ledger and warnings.
import { BasePage, element, paragraph } from '../html/base_page.js';
import { HeatMapChart } from './heat_map_chart.js';
import { HistogramChart } from './histogram_chart.js';
import { ScheduleChart } from './schedule_chart.js';

const kTableRowsMax = 500;
const kCharts = { histogram: HistogramChart, 'heat map': HeatMapChart, schedule: ScheduleChart };

class FigurePage extends BasePage {
    constructor(data) {
        super(data);
        this.data = data;
        this.chart = new kCharts[data.kind](element('graph'), this, data);
        element('subtitle').textContent = data.subtitle;
        document.querySelector('#graph canvas').setAttribute('aria-label', data.kind + ': arrow keys walk, Escape selects nothing');
        element('figures').replaceChildren(...data.figures.flatMap(([name, text]) => {
            const [term, value] = [document.createElement('dt'), document.createElement('dd')];
            term.textContent = name;
            value.textContent = text;
            return [term, value];
        }));
        element('figures-section').hidden = data.figures.length === 0;
        this.isSchedule = data.kind === 'schedule';
        this.table = this.chart.table();
        this.sorted = this.table.sorted ?? 0;
        this.isDown = this.table.sorted !== undefined;
        this.addControls();
        this.addTable();
        this.onSelect(-1);
        this.chart.drawNow();
    }

    addControls() {
        const isHistogram = this.data.kind === 'histogram';
        element('count-views').hidden = !isHistogram || this.chart.isLog;
        element('lane-views').hidden = !this.isSchedule;
        element('search-box').hidden = !this.isSchedule;
        element('reset').hidden = !this.isSchedule;
        this.addChoice(['view-counts', 'view-shares'], this.chart.isCumulative ? 1 : 0, (index) => this.chart.isCumulative = index === 1);
        this.addChoice(['view-cpus', 'view-threads'], 0, (index) => this.chart.isByThread = index === 1);
        element('reset').addEventListener('click', () => this.chart.show(0, this.chart.duration));
        element('search').addEventListener('input', () => this.search(element('search').value.trim().toLowerCase()));
        for (const row of document.querySelectorAll('#help [data-kind]')) {
            row.hidden = !row.dataset.kind.split(',').includes(this.data.kind);
        }
        this.listenToKeys(!this.isSchedule ? {} : {
            '/': () => element('search').focus(),
            0: () => this.chart.show(0, this.chart.duration),
        });
    }

    addChoice(ids, chosen, choose) {
        const show = (index) => ids.forEach((id, i) => {
            element(id).setAttribute('aria-checked', String(i === index));
            element(id).tabIndex = i === index ? 0 : -1;
        });
        show(chosen);
        ids.forEach((id, i) => {
            const take = () => {
                choose(i);
                show(i);
                this.chart.hovered = -1;
                this.chart.drawNow();
            };
            element(id).addEventListener('click', take);
            element(id).addEventListener('keydown', (event) => {
                if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
                    element(ids[1 - i]).click();
                    element(ids[1 - i]).focus();
                }
            });
        });
    }

    draw() {
        this.chart.drawNow();
    }

    search(text) {
        const { name } = this.chart.threads;
        const found = name.map((_, i) => i).filter((i) => name[i].toLowerCase().includes(text));
        this.chart.found = text === '' ? null : new Set(found);
        element('search-result').textContent = text === '' ? '' : found.length + (found.length === 1 ? ' thread' : ' threads');
        this.chart.drawNow();
        this.fillTable();
    }

    // ---- table

    addTable() {
        element('table-title').textContent = this.table.title;
        const head = document.querySelector('#table thead tr');
        this.heads = this.table.columns.map(({ title, isText }, i) => {
            const cell = document.createElement('th');
            const button = document.createElement('button');
            button.type = 'button';
            button.textContent = title;
            button.addEventListener('click', () => {
                this.isDown = this.sorted === i ? !this.isDown : !isText;
                this.sorted = i;
                this.fillTable();
            });
            cell.scope = 'col';
            cell.className = isText ? 'text' : '';
            cell.append(button);
            head.append(cell);
            return cell;
        });
        this.fillTable();
    }

    fillTable() {
        const sign = this.isDown ? -1 : 1;
        const rows = this.table.rows.filter((row) => !this.chart.found || this.chart.found.has(row.thread));
        rows.sort((a, b) => {
            const [first, second] = [a.keys[this.sorted], b.keys[this.sorted]];
            return sign * (first < second ? -1 : first > second ? 1 : 0);
        });
        this.heads.forEach((cell, i) => cell.setAttribute('aria-sort', i !== this.sorted ? 'none' : this.isDown ? 'descending' : 'ascending'));
        document.querySelector('#table tbody').replaceChildren(...rows.slice(0, kTableRowsMax).map((row) => this.rowElement(row)));
        element('table-count').textContent = rows.length > kTableRowsMax ? kTableRowsMax + ' of ' + rows.length : String(rows.length);
    }

    rowElement(row) {
        const made = document.createElement('tr');
        row.cells.forEach((text, i) => {
            const cell = document.createElement('td');
            if (i === 0) {
                const button = document.createElement('button');
                button.type = 'button';
                button.textContent = text;
                button.title = text;
                button.addEventListener('click', () => this.pick(row));
                cell.append(button);
            } else {
                cell.textContent = text;
            }
            cell.className = this.table.columns[i].isText ? 'text' : '';
            made.append(cell);
        });
        made.dataset.number = row.item ?? row.thread;
        return made;
    }

    pick(row) {
        if (row.thread === undefined) {
            this.chart.select(row.item);
            return;
        }
        this.chart.marked = this.chart.marked === row.thread ? -1 : row.thread;
        this.chart.drawNow();
        this.mark(this.chart.marked);
    }

    mark(number) {
        for (const row of document.querySelectorAll('#table tbody tr')) {
            row.classList.toggle('marked', Number(row.dataset.number) === number);
        }
    }

    // ---- what the chart says

    onHover(item, event) {
        if (item < 0 || event.pointerType === 'touch') {
            this.hideTip();
            return;
        }
        const [title, ...lines] = this.chart.describe(item);
        this.showTip(event, title, lines);
    }

    onSelect(item) {
        const texts = item < 0 ? [this.isSchedule ? 'Select a run' : 'Select a ' + (this.data.kind === 'histogram' ? 'bar' : 'cell'), 'by pointer, or with the arrow keys'] : this.chart.describe(item);
        const title = document.createElement('h2');
        title.textContent = texts[0];
        element('frame').replaceChildren(title, ...texts.slice(1).map((text) => paragraph(text)));
        element('live').textContent = item < 0 ? '' : texts.join('; ');
        this.mark(this.isSchedule ? (item < 0 ? this.chart.marked : this.chart.thread[item]) : item);
    }

    onZoom() {
        element('zoom-text').textContent = this.chart.isWhole() ? '' : 'part of the time';
    }
}

window.figure = new FigurePage(await pageData());
