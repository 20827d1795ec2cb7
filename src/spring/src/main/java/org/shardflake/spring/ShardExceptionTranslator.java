/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.TransientDataAccessResourceException;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;

/** Translates {@code SF001}, with which a moving shard refuses a statement, to a transient exception. */
final class ShardExceptionTranslator extends SQLExceptionSubclassTranslator {

    private static final String FENCED = "SF001";

    @Override
    protected @Nullable DataAccessException doTranslate(String task, @Nullable String sql, SQLException e) {
        return isFenced(e)
                ? new TransientDataAccessResourceException(buildMessage(task, sql, e), e)
                : super.doTranslate(task, sql, e);
    }

    /** Whether a statement, or one of a batch, was refused by a fence. */
    private static boolean isFenced(SQLException e) {
        for (SQLException next = e; next != null; next = next.getNextException()) {
            if (FENCED.equals(next.getSQLState())) {
                return true;
            }
        }
        return false;
    }
}
