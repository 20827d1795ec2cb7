/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.ResultSet;
import java.sql.Statement;
import liquibase.database.Database;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.CustomPreconditionErrorException;
import liquibase.exception.CustomPreconditionFailedException;
import liquibase.precondition.CustomPrecondition;

/** A precondition that only Liquibase knows how to check: whether a table is there. */
public final class PlainPrecondition implements CustomPrecondition {

    private String table = "";

    public void setTable(String table) {
        this.table = table;
    }

    @Override
    public void check(Database database) throws CustomPreconditionFailedException, CustomPreconditionErrorException {
        try (Statement statement = ((JdbcConnection) database.getConnection()).createStatement();
                ResultSet row = statement.executeQuery("SELECT to_regclass('%s') IS NULL".formatted(table))) {
            row.next();
            if (row.getBoolean(1)) {
                throw new CustomPreconditionFailedException("no table " + table);
            }
        } catch (CustomPreconditionFailedException e) {
            throw e;
        } catch (Exception e) {
            throw new CustomPreconditionErrorException("cannot ask", e);
        }
    }
}
