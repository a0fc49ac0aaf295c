/**
 * Whether axe could find a text that stands out too little from the elements that hold it. It takes a few milliseconds,
 * where axe's own look takes more than all its other rules together. Where it says yes, axe decides: it trips on each
 * colour that it can't work out, and on large texts as on small ones. Runs in the page.
 */
export function isHardToRead(): boolean {
  type Color = readonly [red: number, green: number, blue: number, alpha: number]
  const CONTRAST_MIN = 4.5
  const CLEAR: Color = [0, 0, 0, 0]
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
    const style = getComputedStyle(element)
    const isPainted = style.display !== 'contents' && style.visibility === 'visible'
    const own = isPainted ? colorOf(style.backgroundColor) : CLEAR
    const under = backdropOf(element.parentElement)
    const isPlain =
      style.backgroundImage === 'none' && style.opacity === '1' && style.mixBlendMode === 'normal'
    const backdrop = isPlain && own !== null && under !== null ? blend(own, under) : null
    backdrops.set(element, backdrop)
    return backdrop
  }
  const isFaint = (text: string, element: Element) => {
    const [color, backdrop] = [colorOf(text), backdropOf(element)]
    if (color === null || backdrop === null) return true
    const [light, dark] = [lightness(blend(color, backdrop)), lightness(backdrop)]
    return (Math.max(light, dark) + 0.05) / (Math.min(light, dark) + 0.05) < CONTRAST_MIN
  }
  // What has no box of its own is seen where what holds it is.
  const isSeen = (element: Element): boolean =>
    getComputedStyle(element).display === 'contents' && element.parentElement !== null
      ? isSeen(element.parentElement)
      : element.checkVisibility()
  const shown = [...document.body.querySelectorAll('*')].filter(
    (element) => getComputedStyle(element).visibility === 'visible' && isSeen(element),
  )
  const isText = (node: Node) => node.nodeType === Node.TEXT_NODE && /\S/.test(node.nodeValue ?? '')
  return shown.some((element) => {
    if (element.closest(':disabled, [aria-disabled="true"]') !== null) return false
    const isField = element.matches('input, select, textarea')
    if (!isField && ![...element.childNodes].some(isText)) return false
    const { color, textShadow } = getComputedStyle(element)
    if (textShadow !== 'none' || isFaint(color, element)) return true
    return isField && isFaint(getComputedStyle(element, '::placeholder').color, element)
  })
}
