/**
 * What graphql says of a value that does not fit repeats the value, and so a secret that was put in the wrong place or
 * beside a misspelt field. Whoever sent it knows it; the log of a pipeline that prints the answer need not.
 */
const repeats: [RegExp, string][] = [
  // Variable "$input" got invalid value { … } at "input.value"; String cannot represent a non string value: 5
  [/^(Variable "\$[^"]*" got )(?:an )?invalid value [\s\S]*( at "[^"]*"); ([\s\S]*)$/, '$1a value that does not fit$2; $3'],
  [/^(Variable "\$[^"]*" got )(?:an )?invalid value [\s\S]*; ([\s\S]*)$/, '$1a value that does not fit; $2'],
  [/( cannot represent [^:]*): [\s\S]*$/, '$1'],
  // Expected value of type "SecretSetInput!", found "…".
  [/^(Expected value of type "[^"]*"), found [\s\S]*$/, '$1'],
  [/^(Syntax Error: [^"]*found (?:Block)?String) "[\s\S]*$/, '$1'],
]

/** `reason`: the message of the error inside, where there is one; the value itself may hold anything. */
export function unrepeated(message: string, reason?: string): string {
  const whole = reason !== undefined && reason !== message && message.endsWith(reason) ? withoutPrefixValue(message, reason) : message
  return repeats.reduce((text, [pattern, told]) => text.replace(pattern, told), whole)
}

function withoutPrefixValue(message: string, reason: string): string {
  const prefix = message.slice(0, -reason.length)
  const [, variable] = /^Variable ("\$[^"]*") got (?:an )?invalid value /.exec(prefix) ?? []
  if (variable === undefined) return message
  const [place = ''] = / at "[^"]*"(?=; $)/.exec(prefix) ?? []
  return `Variable ${variable} got a value that does not fit${place}; ${reason}`
}
