// A part of a page that shows one answer, below an element that an application chooses: title, tools, ledger and warnings,
// and what a subclass draws between them.
import type { Head } from './data.js';
import { make, onResize } from './dom.js';
import { type Acts, listenToKeys } from './keys.js';
import { onTheme } from './theme.js';
import { hideTip } from './tip.js';

const kNarrowPixels = 820;

// The state of a view, in words of a link; initial values are left out.
export type State = Record<string, string>;

export interface ViewLink {
    readonly state: State;  // the initial state
    onState(state: State): void;
}

export abstract class View {
    readonly element: HTMLElement;  // has the class `narrow` if it is only as wide as a phone
    readonly keys: readonly (readonly [keys: string, what: string])[] = [];  // shown as help
    protected readonly ended = new AbortController();
    protected isMounted = false;

    // `template`: the subclass's elements, of constant text.
    protected constructor(root: HTMLElement, template: string, readonly head: Head, protected readonly link: ViewLink) {
        this.element = make('div', 'view');
        this.element.append(...new DOMParser().parseFromString(template, 'text/html').body.childNodes);
        root.append(this.element);
        this.part('title').textContent = head.title;
        this.part('ledger').replaceChildren(...head.ledgers.map((ledger) => make('p', ledger.is_whole ? '' : 'lost', ledger.name + ': ' + ledger.text)));
        this.part('warnings').replaceChildren(...head.warnings.map((warning) => make('p', '', 'warning: ' + warning)));
        const fit = () => {
            this.element.classList.toggle('narrow', this.element.clientWidth <= kNarrowPixels);
            // So that a phone's first screen ends with the drawing.
            const above = this.part('graph-section').getBoundingClientRect().top - this.element.getBoundingClientRect().top;
            this.element.style.setProperty('--above', `${Math.ceil(above)}px`);
        };
        fit();
        onResize(this.element, fit, this.ended.signal);
        onTheme(() => this.draw(), this.ended.signal);
    }

    abstract draw(): void;
    abstract state(): State;
    // Shows the state in a link; values that the link lacks are the initial ones.
    abstract follow(state: State): void;

    // The element of a class that the template has once.
    part<Kind extends HTMLElement = HTMLElement>(name: string): Kind {
        return this.element.querySelector<Kind>('.' + name)!;
    }

    // Removes the view and its listeners.
    destroy(): void {
        this.ended.abort();
        hideTip();
        this.element.remove();
    }

    protected say(text: string): void {
        this.part('live').textContent = text;
    }

    // The callback isn't called before the subclass's constructor is done.
    protected note(): void {
        if (this.isMounted) {
            this.link.onState(this.state());
        }
    }

    protected listenToKeys(acts: Acts): void {
        listenToKeys(acts, this.ended.signal, this.element);
    }
}
