/** English prose of several kinds: a story, an essay, a textbook, an instruction. */
export const ENGLISH_PROSE: readonly string[] = [
  'The lighthouse keeper had not spoken to anyone for eleven days when the supply boat ' +
    'finally came around the point. He watched it from the gallery, one hand on the cold ' +
    'rail, and tried to remember how conversations usually began. Weather, he decided. People ' +
    'always started with the weather. Below him the sea was the colour of old pewter, and the ' +
    'gulls hung motionless above the landing as though somebody had pinned them there.',
  'When the engine stopped, the silence seemed larger than before. A young woman climbed ' +
    'out with a crate of vegetables and a bundle of newspapers tied in string. She looked up, ' +
    'shading her eyes, and waved. "You must be starving," she called. "They told me the storm ' +
    'took your garden." He nodded, although the garden had been gone since October, and went ' +
    'down the hundred and forty steps to help her carry everything inside.',
  'Most software projects fail for reasons that have little to do with programming. ' +
    'Requirements change faster than anyone can record them, decisions are made by people who ' +
    'will never use the result, and the documentation describes a system that nobody ever ' +
    'built. A careful team writes down what it has agreed to do, measures how long each part ' +
    'really takes, and is honest when the answer is disappointing. None of this is difficult ' +
    'to understand; all of it is remarkably hard to keep doing week after week, particularly ' +
    'when a customer is waiting.',
  'In chemistry, a catalyst increases the rate of a reaction without being consumed by it. ' +
    'The substance provides an alternative pathway with a lower activation energy, so that a ' +
    'larger fraction of collisions between molecules leads to products. Enzymes, which are ' +
    'proteins folded into very specific shapes, do this inside living cells with ' +
    'extraordinary precision. Small changes in temperature or acidity can alter the shape of ' +
    'an enzyme and therefore stop it from working altogether.',
  'Please summarise the following report in three short paragraphs, keeping the figures for ' +
    'each quarter and mentioning any risks that the authors consider important. Write for a ' +
    'reader who knows the business well but has not seen the earlier drafts. If a number ' +
    'appears twice with different values, point that out instead of choosing one of them.',
]
