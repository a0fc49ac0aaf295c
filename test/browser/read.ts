/**
 * Whether axe could find a text that stands out too little from what is behind it, or a link from the text around it. It
 * takes a few milliseconds, where axe's own look takes more than all its other rules together. Where it says yes, axe
 * decides: it trips on each colour that it can't work out from a text and the elements that hold it, and on large texts
 * as on small ones. Runs in the page.
 */
export function isHardToRead(): boolean {
  type Color = readonly [red: number, green: number, blue: number, alpha: number]
  const CONTRAST_MIN = 4.5
  const colorOf = (text: string): Color | null => {
    const [, space, list = ''] = /^(rgba?\(|color\(srgb )([\d., /e-]+)\)$/.exec(text) ?? []
    if (space === undefined) return null
    const [red = 0, green = 0, blue = 0, alpha = 1] = list.split(/[, /]+/).map(Number)
    const scale = space === 'color(srgb ' ? 255 : 1
    return [red * scale, green * scale, blue * scale, alpha]
  }
  const blend = ([red, green, blue, alpha]: Color, [r, g, b]: Color): Color => {
    const mix = (over: number, under: number) => over * alpha + under * (1 - alpha)
    return [mix(red, r), mix(green, g), mix(blue, b), 1]
  }
  const lightness = ([red, green, blue]: Color) => {
    const [r = 0, g = 0, b = 0] = [red, green, blue].map((part) =>
      part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    )
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const backdrops = new Map<Element | null, Color | null>([[null, [255, 255, 255, 1]]])
  const backdropOf = (element: Element | null): Color | null => {
    const known = backdrops.get(element)
    if (known !== undefined || element === null) return known ?? null
    const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element)
    const own = colorOf(backgroundColor)
    const under = backdropOf(element.parentElement)
    const isPlain = own !== null && backgroundImage === 'none' && opacity === '1'
    const backdrop = isPlain && under !== null ? blend(own, under) : null
    backdrops.set(element, backdrop)
    return backdrop
  }
  const isFaint = (text: string, element: Element) => {
    const [color, backdrop] = [colorOf(text), backdropOf(element)]
    if (color === null || backdrop === null) return true
    const [light, dark] = [lightness(blend(color, backdrop)), lightness(backdrop)]
    return (Math.max(light, dark) + 0.05) / (Math.min(light, dark) + 0.05) < CONTRAST_MIN
  }
  const shown = [...document.body.querySelectorAll('*')].filter((element) =>
    element.checkVisibility({ visibilityProperty: true }),
  )
  const isText = (node: Node) => node.nodeType === Node.TEXT_NODE && /\S/.test(node.nodeValue ?? '')
  const isInline = (element: Element) => getComputedStyle(element).display.startsWith('inline')
  const hasInlineText = (part: Node): boolean =>
    [...part.childNodes].some(
      (child) =>
        isText(child) ||
        (child instanceof Element &&
          !child.matches('a[href]') &&
          isInline(child) &&
          hasInlineText(child)),
    )
  return shown.some((element) => {
    const isField = element.matches('input, select, textarea')
    if (!isField && ![...element.childNodes].some(isText)) return false
    if (element.closest(':disabled, [aria-disabled="true"]') !== null) return false
    const style = getComputedStyle(element)
    if (isFaint(style.color, element)) return true
    if (isField) return isFaint(getComputedStyle(element, '::placeholder').color, element)
    if (!element.matches('a[href]') || style.textDecorationLine !== 'none') return false
    let block = element.parentElement
    while (isInline(element) && block !== null && isInline(block)) block = block.parentElement
    return isInline(element) && block !== null && hasInlineText(block)
  })
}
