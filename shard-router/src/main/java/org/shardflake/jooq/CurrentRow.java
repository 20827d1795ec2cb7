/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.ResultSet;
import org.jspecify.annotations.Nullable;

/**
 * A view of a result that contains only its current row.
 *
 * <p>jOOQ makes records only of a whole result, whereas the router hands out rows.
 */
final class CurrentRow implements InvocationHandler {

    private final ResultSet row;
    private boolean seen;

    private CurrentRow(ResultSet row) {
        this.row = row;
    }

    static ResultSet of(ResultSet row) {
        return (ResultSet) Proxy.newProxyInstance(
                CurrentRow.class.getClassLoader(), new Class<?>[] {ResultSet.class}, new CurrentRow(row));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        switch (method.getName()) {
            case "next" -> {
                boolean first = !seen;
                seen = true;
                return first;
            }
            case "close" -> {
                return null;
            }
            default -> {}
        }
        try {
            return method.invoke(row, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }
}
