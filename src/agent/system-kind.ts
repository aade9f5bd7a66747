/** Kind in the labels of containers that an agent keeps for its node, such as the resolver. They have no workflow. */
export const systemKind = 'system'
