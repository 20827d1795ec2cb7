/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import liquibase.change.custom.CustomSqlChange;
import liquibase.database.Database;
import liquibase.exception.ValidationErrors;
import liquibase.resource.ResourceAccessor;
import liquibase.statement.SqlStatement;
import liquibase.statement.core.RawParameterizedSqlStatement;

/** A change that is code. */
public final class PlainChange implements CustomSqlChange {

    @Override
    public SqlStatement[] generateStatements(Database database) {
        return new SqlStatement[] {new RawParameterizedSqlStatement("SELECT 1")};
    }

    @Override
    public String getConfirmationMessage() {
        return "";
    }

    @Override
    public void setUp() {}

    @Override
    public void setFileOpener(ResourceAccessor resources) {}

    @Override
    public ValidationErrors validate(Database database) {
        return new ValidationErrors();
    }
}
