/** The key of shortcuts such as Ctrl K: ⌘ on devices of Apple. */
export function commandKey(): '⌘' | 'Ctrl' {
  return /mac|iphone|ipad/i.test(navigator.userAgent) ? '⌘' : 'Ctrl'
}
