-- CreateTable
CREATE TABLE "Project" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Project_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Resource" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "spec" JSONB NOT NULL,
    "generation" INTEGER NOT NULL DEFAULT 1,
    "observedGeneration" INTEGER NOT NULL DEFAULT 0,
    "passNumber" INTEGER NOT NULL DEFAULT 0,
    "decision" JSONB,
    "decisionPass" INTEGER NOT NULL DEFAULT 0,
    "lastPassAt" TIMESTAMPTZ(3),
    "lastError" TEXT,
    "nextPassDueAt" TIMESTAMPTZ(3),
    "paused" BOOLEAN NOT NULL DEFAULT false,
    "pausedReason" TEXT,
    "deletionRequestedAt" TIMESTAMPTZ(3),
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Resource_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Revision" (
    "resourceId" TEXT NOT NULL,
    "generation" INTEGER NOT NULL,
    "spec" JSONB NOT NULL,
    "actor" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Revision_pkey" PRIMARY KEY ("resourceId","generation")
);

-- CreateTable
CREATE TABLE "Release" (
    "resourceId" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "generation" INTEGER NOT NULL,
    "hash" TEXT NOT NULL,
    "templateHash" TEXT NOT NULL,
    "template" JSONB NOT NULL,
    "image" TEXT NOT NULL,
    "resolvedImage" TEXT NOT NULL,
    "resolvedFrom" TEXT NOT NULL,
    "verdictReason" TEXT,
    "verdictMessage" TEXT,
    "servingAt" TIMESTAMPTZ(3),
    "createdAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "Release_pkey" PRIMARY KEY ("resourceId","number")
);

-- CreateTable
CREATE TABLE "Endpoint" (
    "resourceId" TEXT NOT NULL,
    "release" INTEGER NOT NULL,
    "replica" INTEGER NOT NULL,
    "node" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "unroutedAt" TIMESTAMPTZ(3),
    "readyAt" TIMESTAMPTZ(3),
    "createdAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "Endpoint_pkey" PRIMARY KEY ("resourceId","release","replica")
);

-- CreateTable
CREATE TABLE "ReleasedAddress" (
    "node" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "releasedAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ReleasedAddress_pkey" PRIMARY KEY ("node","address")
);

-- CreateTable
CREATE TABLE "Condition" (
    "resourceId" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "observedGeneration" INTEGER NOT NULL,
    "lastTransitionAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "Condition_pkey" PRIMARY KEY ("resourceId","type")
);

-- CreateTable
CREATE TABLE "ConditionTransition" (
    "id" BIGSERIAL NOT NULL,
    "resourceId" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "observedGeneration" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ConditionTransition_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ActionFailure" (
    "resourceId" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "generation" INTEGER NOT NULL,
    "count" INTEGER NOT NULL,
    "reason" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "retryable" BOOLEAN NOT NULL,
    "nextTryAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ActionFailure_pkey" PRIMARY KEY ("resourceId","key")
);

-- CreateTable
CREATE TABLE "ActionHold" (
    "resourceId" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "generation" INTEGER NOT NULL,
    "actor" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ActionHold_pkey" PRIMARY KEY ("resourceId","key")
);

-- CreateTable
CREATE TABLE "NodeStatus" (
    "resourceId" TEXT NOT NULL,
    "subnet" TEXT,
    "channelTokenHash" TEXT,
    "publicKey" TEXT,
    "lastSeenAt" TIMESTAMPTZ(3),
    "protocolVersion" INTEGER,
    "agentVersion" TEXT,
    "architecture" TEXT,
    "engineVersion" TEXT,
    "cpuCount" INTEGER,
    "memoryBytes" BIGINT,
    "diskTotalBytes" BIGINT,
    "diskFreeBytes" BIGINT,
    "clockOffsetMs" INTEGER,
    "reported" JSONB,

    CONSTRAINT "NodeStatus_pkey" PRIMARY KEY ("resourceId")
);

-- CreateTable
CREATE TABLE "Tombstone" (
    "resourceId" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "deletedAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "Tombstone_pkey" PRIMARY KEY ("resourceId")
);

-- CreateTable
CREATE TABLE "Orphan" (
    "node" TEXT NOT NULL,
    "resourceId" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "containers" JSONB NOT NULL,
    "seenAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "Orphan_pkey" PRIMARY KEY ("node","resourceId")
);

-- CreateTable
CREATE TABLE "Event" (
    "id" BIGSERIAL NOT NULL,
    "resourceId" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "severity" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "generation" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "Event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Artifact" (
    "sha256" TEXT NOT NULL,
    "content" BYTEA NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Artifact_pkey" PRIMARY KEY ("sha256")
);

-- CreateTable
CREATE TABLE "Secret" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Secret_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "SecretVersion" (
    "secretId" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "keyId" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "SecretVersion_pkey" PRIMARY KEY ("secretId","version")
);

-- CreateTable
CREATE TABLE "KeyCheck" (
    "keyId" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "KeyCheck_pkey" PRIMARY KEY ("keyId")
);

-- CreateTable
CREATE TABLE "ApiToken" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "tokenHash" TEXT NOT NULL,
    "abilities" TEXT[],
    "createdBy" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expiresAt" TIMESTAMPTZ(3),
    "lastUsedAt" TIMESTAMPTZ(3),
    "revokedAt" TIMESTAMPTZ(3),

    CONSTRAINT "ApiToken_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "AuditEntry" (
    "id" BIGSERIAL NOT NULL,
    "actor" TEXT NOT NULL,
    "ability" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "resourceId" TEXT,
    "workflowId" TEXT,
    "before" JSONB,
    "after" JSONB,
    "outcome" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "AuditEntry_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "IdempotencyKey" (
    "actor" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "inputHash" TEXT NOT NULL,
    "resultId" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "IdempotencyKey_pkey" PRIMARY KEY ("actor","key")
);

-- CreateTable
CREATE TABLE "Setting" (
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,

    CONSTRAINT "Setting_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE UNIQUE INDEX "Project_name_key" ON "Project"("name");

-- CreateIndex
CREATE INDEX "Resource_kind_id_idx" ON "Resource"("kind", "id");

-- CreateIndex
CREATE INDEX "Resource_nextPassDueAt_idx" ON "Resource"("nextPassDueAt");

-- CreateIndex
CREATE UNIQUE INDEX "Resource_projectId_name_key" ON "Resource"("projectId", "name");

-- CreateIndex
CREATE UNIQUE INDEX "Endpoint_node_address_key" ON "Endpoint"("node", "address");

-- CreateIndex
CREATE INDEX "ConditionTransition_resourceId_id_idx" ON "ConditionTransition"("resourceId", "id");

-- CreateIndex
CREATE UNIQUE INDEX "NodeStatus_channelTokenHash_key" ON "NodeStatus"("channelTokenHash");

-- CreateIndex
CREATE UNIQUE INDEX "NodeStatus_subnet_key" ON "NodeStatus"("subnet");

-- CreateIndex
CREATE INDEX "Event_resourceId_id_idx" ON "Event"("resourceId", "id");

-- CreateIndex
CREATE INDEX "Event_projectId_id_idx" ON "Event"("projectId", "id");

-- CreateIndex
CREATE UNIQUE INDEX "Secret_projectId_name_key" ON "Secret"("projectId", "name");

-- CreateIndex
CREATE UNIQUE INDEX "ApiToken_tokenHash_key" ON "ApiToken"("tokenHash");

-- CreateIndex
CREATE INDEX "AuditEntry_resourceId_id_idx" ON "AuditEntry"("resourceId", "id");

-- AddForeignKey
ALTER TABLE "Resource" ADD CONSTRAINT "Resource_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Revision" ADD CONSTRAINT "Revision_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Release" ADD CONSTRAINT "Release_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Endpoint" ADD CONSTRAINT "Endpoint_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Condition" ADD CONSTRAINT "Condition_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ConditionTransition" ADD CONSTRAINT "ConditionTransition_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ActionFailure" ADD CONSTRAINT "ActionFailure_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ActionHold" ADD CONSTRAINT "ActionHold_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "NodeStatus" ADD CONSTRAINT "NodeStatus_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "SecretVersion" ADD CONSTRAINT "SecretVersion_secretId_fkey" FOREIGN KEY ("secretId") REFERENCES "Secret"("id") ON DELETE CASCADE ON UPDATE CASCADE;
