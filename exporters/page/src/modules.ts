// The modules that need no browser, for page_test.mjs.
export { logTicksOf, shadeOfCount, stepOf, ticksOf } from './axis.js';
export { Colours } from './colours.js';
export { durationText, formatAmount, inUnit, quantityText } from './format.js';
export { frameAt, layOut, visitVisible } from './layout.js';
export { changed, fragmentOf, numberOf, stateOf } from './link.js';
export { Profile } from './names.js';
export { betaQuantile, shareInterval, studentQuantile } from './statistics.js';
export { calledFramesOf, calleesOf, callersOf, functionSums, invertedOf, largestFrame, makeTree, outermostFrames, restrictedTo, sourcesOf } from './tree.js';
