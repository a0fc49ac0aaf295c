/** `Owner`: a role as a label. */
export function roleLabel(role: string): string {
  return role.charAt(0).toUpperCase() + role.slice(1)
}
