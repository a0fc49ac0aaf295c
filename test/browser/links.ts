/**
 * Whether axe could find a link that differs from the text around it by its colour alone. Where it says yes, axe
 * decides. Runs in the page.
 */
export function hasLinkLikeText(): boolean {
  const isText = (node: Node) => node.nodeType === Node.TEXT_NODE && /\S/.test(node.nodeValue ?? '')
  // As axe has it: a part without a box of its own is in the line around it, and so is one that is a block in a line.
  const isInline = (element: Element) =>
    !/^(block|list-item|table|flex|grid|table-.*)$/.test(getComputedStyle(element).display)
  const hasInlineText = (part: Node): boolean =>
    [...part.childNodes].some(
      (child) =>
        isText(child) ||
        (child instanceof Element &&
          !child.matches('a[href]') &&
          isInline(child) &&
          hasInlineText(child)),
    )
  // A link that has a line which what holds it has not differs by more than its colour.
  const isLikeText = (link: Element) => {
    const { display, textDecorationLine } = getComputedStyle(link)
    if (!isInline(link) || display.startsWith('inline-')) return false
    if (!link.checkVisibility({ visibilityProperty: true })) return false
    let isUnlined = textDecorationLine === 'none'
    let block = link.parentElement
    while (block !== null) {
      isUnlined ||= getComputedStyle(block).textDecorationLine === textDecorationLine
      if (!isInline(block)) return isUnlined && hasInlineText(block)
      block = block.parentElement
    }
    return false
  }
  return [...document.querySelectorAll('a[href], [role="link"]')].some(isLikeText)
}
