/** What a record of the audit log says beside what every record has, by the names that `audit.include.fields` takes. */
export const AUDIT_FIELDS = ["identity", "client", "server", "mcp_session", "policy", "reason", "metadata"] as const;

/** One of them. */
export type AuditField = (typeof AUDIT_FIELDS)[number];
