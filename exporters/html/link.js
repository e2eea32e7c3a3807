// What the page shows, as the fragment of its address: links lead to a view.

// Words of a view; what is as at the beginning is left out.
const kWords = ['view', 'function', 'colour', 'order', 'width', 'search', 'from', 'to', 'zoom'];

export function fragmentOf(state, atFirst) {
    return kWords.filter((word) => state[word] !== undefined && state[word] !== null && state[word] !== atFirst[word])
        .map((word) => word + '=' + encodeURIComponent(state[word])).join('&');
}

// Of a fragment with or without '#'; words that aren't known, and what can't be decoded, are left out.
export function stateOf(fragment) {
    const state = {};
    for (const part of fragment.replace(/^#/, '').split('&')) {
        const at = part.indexOf('=');
        const word = part.slice(0, at);
        if (at > 0 && kWords.includes(word)) {
            try {
                state[word] = decodeURIComponent(part.slice(at + 1));
            } catch {
                // cut off in the middle of a character
            }
        }
    }
    return state;
}

// A number of [least, most]; null: it is none.
export function numberOf(text, least, most) {
    const number = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return number >= least && number <= most ? number : null;
}
