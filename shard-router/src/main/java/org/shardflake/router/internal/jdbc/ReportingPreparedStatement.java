/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.jdbc;

import java.io.InputStream;
import java.io.Reader;
import java.math.BigDecimal;
import java.net.URL;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Date;
import java.sql.NClob;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.Ref;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.RowId;
import java.sql.SQLException;
import java.sql.SQLType;
import java.sql.SQLXML;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Calendar;

/** A prepared {@link ReportingStatement}. */
public final class ReportingPreparedStatement extends ReportingStatement<PreparedStatement>
        implements PreparedStatement {

    public ReportingPreparedStatement(PreparedStatement statement, Executions executions) {
        super(statement, executions);
    }

    @Override
    public void addBatch() throws SQLException {
        statement.addBatch();
    }

    @Override
    public void clearParameters() throws SQLException {
        statement.clearParameters();
    }

    @Override
    public boolean execute() throws SQLException {
        return executions.execute(() -> statement.execute());
    }

    @Override
    public long executeLargeUpdate() throws SQLException {
        return executions.execute(() -> statement.executeLargeUpdate());
    }

    @Override
    public ResultSet executeQuery() throws SQLException {
        return reported(executions.execute(() -> statement.executeQuery()));
    }

    @Override
    public int executeUpdate() throws SQLException {
        return executions.execute(() -> statement.executeUpdate());
    }

    @Override
    public ResultSetMetaData getMetaData() throws SQLException {
        return statement.getMetaData();
    }

    @Override
    public ParameterMetaData getParameterMetaData() throws SQLException {
        return statement.getParameterMetaData();
    }

    @Override
    public void setArray(int index, Array value) throws SQLException {
        statement.setArray(index, value);
    }

    @Override
    public void setAsciiStream(int index, InputStream stream, int length) throws SQLException {
        statement.setAsciiStream(index, stream, length);
    }

    @Override
    public void setAsciiStream(int index, InputStream stream, long length) throws SQLException {
        statement.setAsciiStream(index, stream, length);
    }

    @Override
    public void setAsciiStream(int index, InputStream stream) throws SQLException {
        statement.setAsciiStream(index, stream);
    }

    @Override
    public void setBigDecimal(int index, BigDecimal value) throws SQLException {
        statement.setBigDecimal(index, value);
    }

    @Override
    public void setBinaryStream(int index, InputStream stream, int length) throws SQLException {
        statement.setBinaryStream(index, stream, length);
    }

    @Override
    public void setBinaryStream(int index, InputStream stream, long length) throws SQLException {
        statement.setBinaryStream(index, stream, length);
    }

    @Override
    public void setBinaryStream(int index, InputStream stream) throws SQLException {
        statement.setBinaryStream(index, stream);
    }

    @Override
    public void setBlob(int index, Blob value) throws SQLException {
        statement.setBlob(index, value);
    }

    @Override
    public void setBlob(int index, InputStream stream, long length) throws SQLException {
        statement.setBlob(index, stream, length);
    }

    @Override
    public void setBlob(int index, InputStream stream) throws SQLException {
        statement.setBlob(index, stream);
    }

    @Override
    public void setBoolean(int index, boolean value) throws SQLException {
        statement.setBoolean(index, value);
    }

    @Override
    public void setByte(int index, byte value) throws SQLException {
        statement.setByte(index, value);
    }

    @Override
    public void setBytes(int index, byte[] value) throws SQLException {
        statement.setBytes(index, value);
    }

    @Override
    public void setCharacterStream(int index, Reader reader, int length) throws SQLException {
        statement.setCharacterStream(index, reader, length);
    }

    @Override
    public void setCharacterStream(int index, Reader reader, long length) throws SQLException {
        statement.setCharacterStream(index, reader, length);
    }

    @Override
    public void setCharacterStream(int index, Reader reader) throws SQLException {
        statement.setCharacterStream(index, reader);
    }

    @Override
    public void setClob(int index, Clob value) throws SQLException {
        statement.setClob(index, value);
    }

    @Override
    public void setClob(int index, Reader reader, long length) throws SQLException {
        statement.setClob(index, reader, length);
    }

    @Override
    public void setClob(int index, Reader reader) throws SQLException {
        statement.setClob(index, reader);
    }

    @Override
    public void setDate(int index, Date value) throws SQLException {
        statement.setDate(index, value);
    }

    @Override
    public void setDate(int index, Date value, Calendar calendar) throws SQLException {
        statement.setDate(index, value, calendar);
    }

    @Override
    public void setDouble(int index, double value) throws SQLException {
        statement.setDouble(index, value);
    }

    @Override
    public void setFloat(int index, float value) throws SQLException {
        statement.setFloat(index, value);
    }

    @Override
    public void setInt(int index, int value) throws SQLException {
        statement.setInt(index, value);
    }

    @Override
    public void setLong(int index, long value) throws SQLException {
        statement.setLong(index, value);
    }

    @Override
    public void setNCharacterStream(int index, Reader reader, long length) throws SQLException {
        statement.setNCharacterStream(index, reader, length);
    }

    @Override
    public void setNCharacterStream(int index, Reader reader) throws SQLException {
        statement.setNCharacterStream(index, reader);
    }

    @Override
    public void setNClob(int index, NClob value) throws SQLException {
        statement.setNClob(index, value);
    }

    @Override
    public void setNClob(int index, Reader reader, long length) throws SQLException {
        statement.setNClob(index, reader, length);
    }

    @Override
    public void setNClob(int index, Reader reader) throws SQLException {
        statement.setNClob(index, reader);
    }

    @Override
    public void setNString(int index, String value) throws SQLException {
        statement.setNString(index, value);
    }

    @Override
    public void setNull(int index, int type) throws SQLException {
        statement.setNull(index, type);
    }

    @Override
    public void setNull(int index, int type, String typeName) throws SQLException {
        statement.setNull(index, type, typeName);
    }

    @Override
    public void setObject(int index, Object value, int type) throws SQLException {
        statement.setObject(index, value, type);
    }

    @Override
    public void setObject(int index, Object value) throws SQLException {
        statement.setObject(index, value);
    }

    @Override
    public void setObject(int index, Object value, int type, int scaleOrLength) throws SQLException {
        statement.setObject(index, value, type, scaleOrLength);
    }

    @Override
    public void setObject(int index, Object value, SQLType type, int scaleOrLength) throws SQLException {
        statement.setObject(index, value, type, scaleOrLength);
    }

    @Override
    public void setObject(int index, Object value, SQLType type) throws SQLException {
        statement.setObject(index, value, type);
    }

    @Override
    public void setRef(int index, Ref value) throws SQLException {
        statement.setRef(index, value);
    }

    @Override
    public void setRowId(int index, RowId value) throws SQLException {
        statement.setRowId(index, value);
    }

    @Override
    public void setSQLXML(int index, SQLXML value) throws SQLException {
        statement.setSQLXML(index, value);
    }

    @Override
    public void setShort(int index, short value) throws SQLException {
        statement.setShort(index, value);
    }

    @Override
    public void setString(int index, String value) throws SQLException {
        statement.setString(index, value);
    }

    @Override
    public void setTime(int index, Time value) throws SQLException {
        statement.setTime(index, value);
    }

    @Override
    public void setTime(int index, Time value, Calendar calendar) throws SQLException {
        statement.setTime(index, value, calendar);
    }

    @Override
    public void setTimestamp(int index, Timestamp value) throws SQLException {
        statement.setTimestamp(index, value);
    }

    @Override
    public void setTimestamp(int index, Timestamp value, Calendar calendar) throws SQLException {
        statement.setTimestamp(index, value, calendar);
    }

    @Override
    public void setURL(int index, URL value) throws SQLException {
        statement.setURL(index, value);
    }

    @Override
    @Deprecated
    public void setUnicodeStream(int index, InputStream stream, int length) throws SQLException {
        statement.setUnicodeStream(index, stream, length);
    }
}
