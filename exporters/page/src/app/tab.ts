// A tab of the application: a query about the selection, and the display of its answer.
import type { State } from '../view.js';
import type { Params } from './api.js';
import type { Inventory, Selection, SelectionWord } from './selection.js';

// The arguments with which a tab is opened. It ends with `signal`.
export interface Place {
    readonly root: HTMLElement;
    readonly inventory: Inventory;
    readonly selection: Selection;
    readonly state: State;  // the tab's own words in the address
    readonly signal: AbortSignal;
    // Shows a query's progress, and offers to cancel it.
    ask<Result>(what: string, question: (asking: { signal: AbortSignal; onProgress(done: number, total: number): void }) => Promise<Result>): Promise<Result>;
    // Changes the address; the view stays as it is.
    note(state: State): void;
    // Continues with another selection, tab or state.
    go(to: { tab?: string; selection?: Partial<Selection>; state?: State }): void;
    // The buttons at the top: the command with the same result, and files.
    offer(command: string, params: Params, files?: Download[]): void;
}

export interface Download {
    name: string;  // name in the menu
    file: string;
    url: string;
}

export interface Tab {
    readonly name: string;
    readonly title: string;
    readonly hint: string;
    readonly words: readonly SelectionWord[];
    open(place: Place): Promise<void>;
}
