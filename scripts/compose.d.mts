export function findCompose(): Promise<string[]>
